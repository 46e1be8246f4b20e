// The start of portable programs (make/portable.mk). Since glibc 2.34, __libc_start_main runs a program's constructors, and
// newer versions of crt1.o rely on that. Up to 2.33 the program passes a function that runs them. The linker (--wrap)
// redirects the call in crt1.o to the function below; newer versions of glibc still call the function that is passed.
typedef int Main(int, char**, char**);
typedef void Constructor(int, char**, char**);
extern void _init(void);
extern Constructor* __init_array_start[];
extern Constructor* __init_array_end[];
extern int __real___libc_start_main(Main*, int, char**, Constructor*, void (*)(void), void (*)(void), void*);

static void run_constructors(int count, char** arguments, char** environment) {
  _init();
  for (Constructor** constructor = __init_array_start; constructor != __init_array_end; ++constructor)
    (*constructor)(count, arguments, environment);
}

int __wrap___libc_start_main(Main* main, int count, char** arguments, Constructor* none, void (*finish)(void),
                             void (*end_of_linker)(void), void* end_of_stack) {
  (void)none;
  return __real___libc_start_main(main, count, arguments, run_constructors, finish, end_of_linker, end_of_stack);
}
