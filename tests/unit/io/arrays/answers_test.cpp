#include "io/arrays/answers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "io/arrays/class_names.hpp"
#include "io/arrays/labels.hpp"
#include "io/arrays/npy.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/output_form.hpp"
#include "support/hostile_files.hpp"
#include "support/message_of.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

class Answers : public ::testing::Test {
 protected:
  std::string predictions(const std::vector<Index>& classes, const AnswerNames& names, OutputForm form) const {
    AtomicFile file(directory_ / "answers");
    write_predictions(file, classes, names, form);
    file.commit();
    return text_of_file(directory_ / "answers");
  }
  std::string logits(const Tensor& tensor, const AnswerNames& names, OutputForm form) const {
    AtomicFile file(directory_ / "answers");
    write_logits(file, tensor, names, form);
    file.commit();
    return text_of_file(directory_ / "answers");
  }

  static inline const std::vector<std::string> three_images{"a.png", "b, c.png", "d.png"};
  static inline const std::vector<std::string> three_classes{"cat", "dog, wet", "owl"};
  TemporaryDirectory directory_;
};

TEST_F(Answers, PredictionsInEachForm) {
  const std::vector<Index> classes{2, 0, 1};
  EXPECT_EQ(predictions(classes, {}, OutputForm::txt), "2\n0\n1\n");
  EXPECT_EQ(predictions(classes, {three_images, three_classes}, OutputForm::txt), "2\n0\n1\n");
  EXPECT_EQ(predictions(classes, {}, OutputForm::csv), "image,class\n1,2\n2,0\n3,1\n");
  EXPECT_EQ(predictions(classes, {three_images, {}}, OutputForm::csv),
            "image,class\na.png,2\n\"b, c.png\",0\nd.png,1\n");
  EXPECT_EQ(predictions(classes, {{}, three_classes}, OutputForm::csv),
            "image,class,name\n1,2,owl\n2,0,cat\n3,1,\"dog, wet\"\n");
  predictions(classes, {}, OutputForm::npy);
  const IntegerTensor array = read_npy_integers(InputFile(directory_ / "answers"));
  EXPECT_EQ(array.shape, (Shape{3}));
  EXPECT_EQ(std::vector<std::int64_t>(array.values.begin(), array.values.end()), (std::vector<std::int64_t>{2, 0, 1}));
}

TEST_F(Answers, LogitsInEachForm) {
  const Tensor tensor{{2, 3}, std::vector<float>{0.1F, -2, 1e-30F, 4, 0, 1.5F}};
  EXPECT_EQ(logits(tensor, {}, OutputForm::txt), "0.1 -2 1e-30\n4 0 1.5\n");
  EXPECT_EQ(logits(tensor, {three_images, three_classes}, OutputForm::csv),
            "image,cat,\"dog, wet\",owl\na.png,0.1,-2,1e-30\n\"b, c.png\",4,0,1.5\n");
  // Images of several axes have one column for each number, and names only where there is one for each.
  const Tensor wide{{1, 2, 2}, std::vector<float>{1, 2, 3, 4}};
  EXPECT_EQ(logits(wide, {{}, three_classes}, OutputForm::csv), "image,0,1,2,3\n1,1,2,3,4\n");
  EXPECT_EQ(logits(wide, {{}, std::span(three_classes).first(2)}, OutputForm::csv), "image,0,1,2,3\n1,1,2,3,4\n");
  EXPECT_EQ(logits({{0, 3}, std::vector<float>{}}, {}, OutputForm::csv), "image\n");
  logits(wide, {}, OutputForm::npy);
  EXPECT_EQ(read_npy_rows(InputFile(directory_ / "answers"), {}).tensor.shape, (Shape{1, 2, 2}));
}

TEST_F(Answers, EveryClassHasOneName) {
  const auto path = written(directory_ / "names.txt", "cat\ndog\r\nowl\n");
  EXPECT_EQ(read_class_names(path, 3), (std::vector<std::string>{"cat", "dog", "owl"}));
  for (const Index classes : {2U, 4U})
    expect_refused(path, "3 names, expected " + std::to_string(classes), [&] { read_class_names(path, classes); });
  expect_refused(written(directory_ / "gap.txt", "cat\n\nowl\n"),
                 "gap.txt:2: an empty line, expected the name of class 1",
                 [&] { read_class_names(directory_ / "gap.txt", 3); });
}

TEST_F(Answers, LabelsInTheColumnHeadedClass) {
  const auto path = directory_ / "labels.csv";
  EXPECT_EQ(read_labels(written(path, "image,class,name\n\"a\nb\",2,x\n1,0,\n\"3\",\"1\",\"\"\n"), 3, 3),
            (std::vector<Index>{2, 0, 1}));
  const auto refused = [&](const std::string& content, std::string_view part) {
    expect_refused(path, part, [&] { read_labels(written(path, content), 3, 3); });
  };
  refused("image,label\n1,0\n", "labels.csv:1: no column is headed `class`");
  refused("", "empty, expected a header with a column `class`");
  refused("image,class\n\"a\nb\",2\n2,1\n3\n", "labels.csv:5: 1 fields, expected 2");
  refused("image,class\n1,2,3\n", "labels.csv:2: 3 fields, expected 2");
  refused("image,class\n\"a\nb\",2\n22,1x\n", "labels.csv:4:4: expected a whole number");
  refused("image,class\n\"a\nb\",2x\n", "labels.csv:3:4: expected a whole number");
  for (const char* const odd : {"", "-", "1.0", " 1", "99999999999999999999"})
    refused(std::string("image,class\n1,") + odd + "\n", "labels.csv:2:3: expected a whole number");
  refused("image,class\n1,0\n2,1\n3,3\n", "number 3 is label 3, expected 0 to 2");
}

TEST_F(Answers, TheFormIsThatOfTheEnding) {
  using enum OutputForm;
  const auto form = [](const std::string& path) { return output_form("--out", path, {npy, tsv, csv}); };
  EXPECT_EQ(form("x.npy"), npy);
  EXPECT_EQ(form("x.tsv"), tsv);
  EXPECT_EQ(form("x.tsv.gz"), tsv);
  EXPECT_EQ(form("x.tsv.csv"), csv);
  for (const char* path : {"x.csv.gz", "x.npy.gz", "x.gz", "x.txt", "x", "tsv", ""})
    EXPECT_EQ(testing::message_of<UsageError>([&] { form(path); }),
              "--out " + std::string(path) + ": expected a name that ends in .npy, .tsv, .csv, or - for stdout");
  for (const char* path : {"/dev/null", "/dev/full"}) EXPECT_EQ(form(path), npy);
  // Stdout has no ending either, even if it is a file.
  const int before = ::dup(STDOUT_FILENO);
  const int file = ::open((directory_ / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_TRUE(before >= 0 && file >= 0);
  ::dup2(file, STDOUT_FILENO);
  const std::string of_name = testing::message_of<UsageError>([&] { EXPECT_EQ(form("-"), npy); });
  const std::string of_path = testing::message_of<UsageError>([&] { EXPECT_EQ(form("/dev/stdout"), npy); });
  ::dup2(before, STDOUT_FILENO);
  ::close(file);
  ::close(before);
  EXPECT_EQ(of_name, "no error");
  EXPECT_EQ(of_path, "no error");
}

}  // namespace
}  // namespace spdnn
