"""Random ONNX graphs, as the text that `protoc --encode=onnx.ModelProto` turns into a file."""

import numpy

FIRST_SET, LAST_SET = 7, 21
MOST_ELEMENTS = 6000  # of a value, for one image


def quoted(data):
    return '"' + "".join(f"\\{byte:03o}" for byte in data) + '"'


def tensor_fields(array):
    kind = {"float32": 1, "int8": 3, "int64": 7, "bool": 9}[array.dtype.name]
    dims = " ".join(f"dims: {length}" for length in array.shape)
    return f"data_type: {kind} {dims} raw_data: {quoted(array.tobytes())}"


def attribute(name, value):
    if isinstance(value, str):
        fields = f'type: STRING s: "{value}"'
    elif isinstance(value, float):
        fields = f"type: FLOAT f: {value!r}"
    elif isinstance(value, int):
        fields = f"type: INT i: {value}"
    elif isinstance(value, numpy.ndarray):
        fields = f"type: TENSOR t {{ {tensor_fields(value)} }}"
    elif value and isinstance(value[0], float):
        fields = "type: FLOATS " + " ".join(f"floats: {one!r}" for one in value)
    else:
        fields = "type: INTS " + " ".join(f"ints: {int(one)}" for one in value)
    return f'attribute {{ name: "{name}" {fields} }}'


class Value:
    def __init__(self, name, shape):
        self.name = name
        self.shape = tuple(int(length) for length in shape)  # with the number of images on axis 0

    @property
    def rank(self):
        return len(self.shape)


class RandomGraph:
    """One input, one output, and up to 14 operators between them. Axis 0 stays the batch."""

    def __init__(self, seed):
        self.rng = numpy.random.default_rng(seed)
        self.opset = self.below(LAST_SET + 1 - FIRST_SET) + FIRST_SET
        self.open_batch = self.one_in(2)
        self.images = 1 + self.below(4)
        self.density = self.among([1.0, 0.7, 0.5, 0.2, 0.1, 0.05, 0.01])
        self.nodes, self.initializers = [], []
        self.names = 0
        if self.one_in(5):
            shape = (self.images, 2 + self.below(20))
        else:
            axes = 1 if self.one_in(4) else 2
            shape = (self.images, 1 + self.below(6), *(3 + self.below(10) for _ in range(axes)))
        self.input = Value("input", shape)
        self.values = [self.input]
        for _ in range(3 + self.below(12)):
            self.step()
        while self.values[-1] is self.input:
            self.step()
        self.output = self.values[-1]

    # Draws.

    def below(self, count):
        return int(self.rng.integers(count))

    def one_in(self, count):
        return self.below(count) == 0

    def among(self, choices):
        return choices[self.below(len(choices))]

    def real(self, low, high):
        return float(numpy.float32(self.rng.uniform(low, high)))

    def numbers(self, shape, low=-1.0, high=1.0):
        return self.rng.uniform(low, high, shape).astype("<f4")

    def weights(self, shape, terms):
        """Numbers of which `density` are not zero, and whose sum over `terms` is about 1."""
        drawn = self.numbers(shape)
        drawn[self.rng.random(shape) >= self.density] = 0
        return (drawn / numpy.float32(numpy.sqrt(max(1.0, terms * self.density) / 3))).astype("<f4")

    # Parts of the file.

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def constant(self, array):
        """A constant of the file: an initializer, or the output of a node Constant."""
        array = numpy.asarray(array)
        array = array.astype({"f": "<f4", "i": "<i8", "b": "?"}[array.dtype.kind])
        name = self.name()
        if self.one_in(3):
            self.nodes.append(f'node {{ op_type: "Constant" name: "constant{self.names}" output: "{name}" '
                              f'{attribute("value", array)} }}')
        else:
            self.initializers.append(f'initializer {{ name: "{name}" {tensor_fields(array)} }}')
        return name

    def node(self, kind, inputs, /, **attributes):
        """Adds a node, and returns the name of its output."""
        output = self.name()
        title = "" if self.one_in(8) else f'name: "{kind.lower()}{self.names}" '
        words = " ".join(f'input: "{one.name if isinstance(one, Value) else one}"' for one in inputs)
        given = " ".join(attribute(name, value) for name, value in attributes.items() if value is not None)
        self.nodes.append(f'node {{ op_type: "{kind}" {title}{words} output: "{output}" {given} }}')
        return output

    def add(self, kind, shape, inputs, /, **attributes):
        self.values.append(Value(self.node(kind, inputs, **attributes), shape))

    def text(self):
        ir = 8 if self.opset < 19 else 9 if self.opset < 21 else 10
        batch = 'dim_param: "batch"' if self.open_batch else f"dim_value: {self.images}"
        axes = " ".join(f"dim {{ {text} }}" for text in [batch, *(f"dim_value: {n}" for n in self.input.shape[1:])])
        return "\n".join([
            f"ir_version: {ir}", f"opset_import {{ version: {self.opset} }}", "graph {", 'name: "random"',
            f'input {{ name: "input" type {{ tensor_type {{ elem_type: 1 shape {{ {axes} }} }} }} }}',
            f'output {{ name: "{self.output.name}" type {{ tensor_type {{ elem_type: 1 }} }} }}',
            *self.initializers, *self.nodes, "}"]) + "\n"

    def make_input(self):
        return self.numbers(self.input.shape)

    # Operators. Each takes a value that suits it, adds a node or more, or does nothing.

    def step(self):
        x = self.values[-1] if not self.one_in(4) else self.among(self.values)
        windows = [self.convolution, self.convolution, self.convolution, self.transposed_convolution, self.pool, self.pool,
                   self.resize, self.global_pool]
        others = [self.activation, self.activation, self.prelu, self.with_constant, self.with_constant, self.of_two,
                  self.concat, self.pad, self.transpose, self.flatten, self.reshape, self.squeeze, self.unsqueeze,
                  self.slice, self.split, self.gather, self.exported_pad, self.gemm, self.product, self.softmax, self.mean,
                  self.unchanged, self.norm, self.function, self.function, self.power, self.extreme, self.reduction, self.layer_norm,
                  self.product_of_two, self.expand, self.tile, self.choice, self.quantized]
        of_pictures = [self.blocks, self.local_norm, self.instance_norm, self.mirrored_pad]
        if self.one_in(150):
            return self.rare(x)
        before = len(self.values)
        if x.rank == 4 and self.one_in(8):
            others = of_pictures
        self.among(windows if x.rank in (3, 4) and self.one_in(2) else others)(x)
        if len(self.values) > before and numpy.prod(self.values[-1].shape[1:]) > MOST_ELEMENTS:
            del self.values[-1]
        return None

    def rare(self, x):
        """An operation that spdnn refuses, by the name of its node."""
        self.add("Hardmax", x.shape, [x], axis=1)

    def window(self, x, with_dilation, most=4):
        """Kernel, strides, dilations and pads whose windows lie in the image, and the lengths of the output."""
        lengths = x.shape[2:]
        kernel = [1 + self.below(min(most, length)) for length in lengths]
        strides = [1 + self.below(3) for _ in lengths]
        dilations = [1 + self.below(2 if with_dilation and self.one_in(2) else 1) for _ in lengths]
        pads = [[self.below(min(size, 3)) for size in kernel] for _ in range(2)]
        automatic = self.among(["NOTSET"] * 4 + ["SAME_UPPER", "SAME_LOWER", "VALID"])
        if automatic.startswith("SAME"):  # as far as onnxruntime takes it
            dilations = [1 for _ in lengths]
            strides = [min(stride, size) for stride, size in zip(strides, kernel)]
        reach = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations)]
        if automatic == "NOTSET":
            room = [length + begin + end - far for length, begin, end, far in zip(lengths, *pads, reach)]
        elif automatic == "VALID":
            room = [length - far for length, far in zip(lengths, reach)]
        else:
            room = [(length + stride - 1) // stride * stride - stride for length, stride in zip(lengths, strides)]
        given = {"kernel_shape": kernel, "strides": strides, "dilations": dilations if with_dilation else None}
        if automatic != "NOTSET":
            given["auto_pad"] = automatic
        else:
            given["pads"] = [*pads[0], *pads[1]]
        if min(room) < 0:
            return None
        return given, room

    def convolution(self, x):
        found = self.window(x, True)
        if found is None:
            return
        given, room = found
        groups = self.among([n for n in range(1, x.shape[1] + 1) if x.shape[1] % n == 0])
        filters = groups * (1 + self.below(4))
        channels = x.shape[1] // groups
        shape = (filters, channels, *given["kernel_shape"])
        inputs = [x, self.constant(self.weights(shape, numpy.prod(shape[1:])))]
        if self.one_in(2):
            inputs.append(self.constant(self.numbers(filters, -0.5, 0.5)))
        lengths = [space // stride + 1 for space, stride in zip(room, given["strides"])]
        if self.one_in(3):
            del given["kernel_shape"]  # follows from the weights
        self.add("Conv", (*x.shape[:2][:1], filters, *lengths), inputs, group=groups, **given)

    def transposed_convolution(self, x):
        lengths = x.shape[2:]
        kernel = [1 + self.below(4) for _ in lengths]
        strides = [1 + self.below(3) for _ in lengths]
        dilations = [1 + (self.below(2) if self.one_in(3) else 0) for _ in lengths]
        more = [self.below(stride) for stride in strides]
        pads = [[self.below(2) for _ in lengths] for _ in range(2)]
        made = [(length - 1) * stride + (size - 1) * dilation + 1 + extra - begin - end for
                length, stride, size, dilation, extra, begin, end in zip(lengths, strides, kernel, dilations, more, *pads)]
        if min(made) < 1:
            return
        groups = self.among([n for n in range(1, x.shape[1] + 1) if x.shape[1] % n == 0])
        filters = 1 + self.below(3)
        shape = (x.shape[1], filters, *kernel)
        inputs = [x, self.constant(self.weights(shape, x.shape[1] // groups * numpy.prod(kernel)))]
        if self.one_in(2):
            inputs.append(self.constant(self.numbers(groups * filters, -0.5, 0.5)))
        self.add("ConvTranspose", (x.shape[0], groups * filters, *made), inputs, group=groups, kernel_shape=kernel,
                 strides=strides, dilations=dilations, output_padding=more if sum(more) else None, pads=[*pads[0], *pads[1]])

    def pool(self, x):
        maximum = self.one_in(2)
        found = self.window(x, self.opset >= (10 if maximum else 19))
        if found is None:
            return
        given, room = found
        strides, up = given["strides"], False
        lengths = [space // stride + 1 for space, stride in zip(room, strides)]
        if self.opset >= 10 and "pads" in given and self.one_in(2):
            up = True
            for axis, (space, stride) in enumerate(zip(room, strides)):
                # A last window that begins beyond the image is none.
                if space % stride and lengths[axis] * stride < x.shape[2 + axis] + given["pads"][axis]:
                    lengths[axis] += 1
        more = {"ceil_mode": int(up)} if self.opset >= 10 else {}
        if not maximum:
            more["count_include_pad"] = self.below(2)
        self.add("MaxPool" if maximum else "AveragePool", (*x.shape[:2], *lengths), [x], **given, **more)

    def global_pool(self, x):
        self.add(self.among(["GlobalMaxPool", "GlobalAveragePool"]), (*x.shape[:2], *(1 for _ in x.shape[2:])), [x])

    def resize(self, x):
        mode = self.among(["nearest", "linear"] + ["cubic"] * (len(x.shape) == 4 and self.opset >= 11))
        lengths = x.shape[2:]
        sizes = [1 + self.below(14) for _ in lengths]
        scales = [self.among([2.0, 3.0, 1.5, 1.25, 1.0, 1.3, size / length]) for size, length in zip(sizes, lengths)]
        if self.opset >= 11 and self.one_in(3):
            scales = [self.among([0.5, 0.6, 0.75, scale]) for scale in scales]
        scales = [float(numpy.float32(scale)) for scale in scales]
        by_sizes = self.opset >= 11 and self.one_in(2)
        if not by_sizes:
            sizes = [int(numpy.float32(length) * numpy.float32(scale)) for length, scale in zip(lengths, scales)]
        # By a scale above 1 to the same size: the old sets do not say what becomes of it, and onnxruntime copies the image.
        unclear = not by_sizes and any(size == length and scale != 1 for size, length, scale in zip(sizes, lengths, scales))
        if min(sizes) < 1 or unclear or (self.opset < 11 and min(scales) < 1):
            return None
        shape = (*x.shape[:2], *sizes)
        all_scales = [1.0, 1.0, *scales]
        if self.opset < 9:
            return self.add("Upsample", shape, [x], mode=mode, scales=all_scales)
        if self.opset < 11:
            kind = "Upsample" if self.opset == 9 else "Resize"
            return self.add(kind, shape, [x, self.constant(numpy.array(all_scales))], mode=mode)
        places = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]
        place = self.among(places)
        if place == "pytorch_half_pixel" and 1 in sizes:
            place = "half_pixel"
        region = self.constant(numpy.zeros(0, "<f4")) if self.opset < 13 else ""
        if by_sizes and self.open_batch:
            kept = self.node("Slice", [self.node("Shape", [x]), *(self.constant(numpy.array([n])) for n in (0, 2, 0))])
            wanted = self.node("Concat", [kept, self.constant(numpy.array(sizes))], axis=0)
        else:
            wanted = self.constant(numpy.array(shape))
        empty = self.constant(numpy.zeros(0, "<f4")) if self.opset < 13 else ""
        inputs = [x, region, empty, wanted] if by_sizes else [x, region, self.constant(numpy.array(all_scales))]
        rounding = self.among(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
        more = {"cubic_coeff_a": self.among([None, -0.5, -0.75])} if mode == "cubic" else {}
        self.add("Resize", shape, inputs, mode=mode, coordinate_transformation_mode=place,
                 nearest_mode=rounding if mode == "nearest" else None, **more)
        return None

    def activation(self, x):
        kinds = ["Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip"] + ["HardSwish"] * (self.opset >= 14)
        kind = self.among(kinds)
        attributes, inputs = {}, [x]
        if kind == "LeakyRelu":
            attributes["alpha"] = self.real(-0.5, 0.5)
        if kind == "HardSigmoid" and self.one_in(2):
            attributes = {"alpha": self.real(0.1, 0.5), "beta": self.real(0, 1)}
        if kind == "Clip":
            low = self.real(-0.5, 0.2) if not self.one_in(3) else None
            high = self.real(0.3, 1) if not self.one_in(3) else None
            if self.opset < 11:
                attributes = {"min": low, "max": high}
            else:
                bounds = ["" if bound is None else self.constant(numpy.array(bound)) for bound in (low, high)]
                inputs += bounds[:2 if high is not None else 1 if low is not None else 0]
        self.add(kind, x.shape, inputs, **attributes)

    def prelu(self, x):
        slope = self.among([(1,), (x.shape[1], *(1 for _ in x.shape[2:])), x.shape[1:], x.shape[-1:]])
        self.add("PRelu", x.shape, [x, self.constant(self.numbers(slope, -0.5, 0.5))])

    def with_constant(self, x):
        shape = [self.among([1, length]) for length in x.shape[1:]]
        shape = shape[self.below(len(shape) + 1):]
        kind = self.among(["Add", "Sub", "Mul", "Div"])
        numbers = self.numbers(shape, 0.5, 1.5) * self.rng.choice([-1, 1], shape)
        inputs = [x, self.constant(numbers)]
        self.add(kind, x.shape, inputs[::-1] if kind != "Div" and self.one_in(3) else inputs)

    def of_two(self, x):
        def fits(y):
            return y.rank == x.rank and all(1 in (a, b) or a == b for a, b in zip(x.shape, y.shape))
        y = self.among([value for value in self.values if fits(value)])
        shape = [max(a, b) for a, b in zip(x.shape, y.shape)]
        self.add(self.among(["Add", "Sub", "Mul"]), shape, [x, y])

    def concat(self, x):
        axis = 1 + self.below(x.rank - 1)

        def fits(y):
            return y.rank == x.rank and all(a == b for i, (a, b) in enumerate(zip(x.shape, y.shape)) if i != axis)
        parts = [x] + [self.among([value for value in self.values if fits(value)]) for _ in range(1 + self.below(2))]
        shape = list(x.shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        self.add("Concat", shape, parts, axis=axis - x.rank if self.one_in(4) and self.opset >= 11 else axis)

    def pad(self, x):
        begin = [0] + [self.below(3) if not self.one_in(3) else 0 for _ in x.shape[1:]]
        end = [0] + [self.among([0, 1, 2, -1 if length > 2 else 0]) for length in x.shape[1:]]
        shape = [length + before + after for length, before, after in zip(x.shape, begin, end)]
        value = self.among([None, 0.0, self.real(-1, 1)])
        if self.opset < 11:
            return self.add("Pad", shape, [x], mode="constant", pads=begin + end, value=value)
        inputs = [x, self.constant(numpy.array(begin + end))]
        if value is not None:
            inputs.append(self.constant(numpy.array(value)))
        self.add("Pad", shape, inputs, mode="constant")
        return None

    def transpose(self, x):
        order = [0, *(1 + int(axis) for axis in self.rng.permutation(x.rank - 1))]
        self.add("Transpose", [x.shape[axis] for axis in order], [x], perm=order)

    def flatten(self, x):
        self.add("Flatten", (x.shape[0], numpy.prod(x.shape[1:])), [x], axis=1 if self.one_in(2) else None)

    def reshape(self, x):
        inner = int(numpy.prod(x.shape[1:]))
        first = self.among([n for n in range(1, inner + 1) if inner % n == 0])
        shape = self.among([(inner,), (first, inner // first), (1, first, inner // first), x.shape[1:]])
        lengths = [self.images if not self.open_batch and self.one_in(2) else 0, *shape]
        form = self.below(3)
        if form == 0:
            lengths[self.below(len(lengths))] = -1
        if form < 2:
            target = self.constant(numpy.array(lengths))
        else:  # the way in which exporters write x.view(x.size(0), ...)
            batch = self.node("Gather", [self.node("Shape", [x]), self.constant(numpy.array(0))], axis=0)
            batch = self.unsqueezed(batch, [0])
            target = self.node("Concat", [batch, self.constant(numpy.array(lengths[1:]))], axis=0)
        self.add("Reshape", (x.shape[0], *shape), [x, target])

    def unsqueezed(self, x, axes):
        if self.opset < 13:
            return self.node("Unsqueeze", [x], axes=axes)
        return self.node("Unsqueeze", [x, self.constant(numpy.array(axes))])

    def squeeze(self, x):
        axes = [axis for axis in range(1, x.rank) if x.shape[axis] == 1 and self.one_in(2)]
        if not axes or x.rank - len(axes) < 2:
            return
        shape = [length for axis, length in enumerate(x.shape) if axis not in axes]
        if self.opset < 13:
            self.add("Squeeze", shape, [x], axes=axes)
        else:
            self.add("Squeeze", shape, [x, self.constant(numpy.array(axes))])

    def unsqueeze(self, x):
        if x.rank > 3:
            return
        axis = 1 + self.below(x.rank)
        shape = [*x.shape[:axis], 1, *x.shape[axis:]]
        self.values.append(Value(self.unsqueezed(x, [axis]), shape))

    def slice(self, x):
        axes = [axis for axis in range(1, x.rank) if self.one_in(2)]
        if not axes:
            return
        starts = [self.below(x.shape[axis]) for axis in axes]
        ends = [start + 1 + self.below(x.shape[axis] - start) for axis, start in zip(axes, starts)]
        steps = [1 + (self.below(3) if self.opset >= 10 and self.one_in(2) else 0) for _ in axes]
        shape = list(x.shape)
        for axis, start, end, step in zip(axes, starts, ends, steps):
            shape[axis] = (end - start - 1) // step + 1
        starts = [start - x.shape[axis] if self.one_in(3) else start for axis, start in zip(axes, starts)]
        ends = [2**63 - 1 if end == x.shape[axis] else end for axis, end in zip(axes, ends)]
        if self.opset < 10:
            return self.add("Slice", shape, [x], starts=starts, ends=ends, axes=axes)
        lists = [starts, ends, axes] + ([steps] if max(steps) > 1 or self.one_in(2) else [])
        return self.add("Slice", shape, [x, *(self.constant(numpy.array(one)) for one in lists)])

    def split(self, x):
        axis = 1 + self.below(x.rank - 1)
        length = x.shape[axis]
        if length < 2:
            return
        first = 1 + self.below(length - 1)
        parts = [first, length - first]
        even = self.one_in(2) and (length % 2 == 0 or self.opset >= 18)
        if even:
            parts = [(length + 1) // 2, length // 2]
        names = [self.name(), self.name()]
        inputs, attributes = [x.name], {"axis": axis}
        if not even and self.opset < 13:
            attributes["split"] = parts
        elif not even:
            inputs.append(self.constant(numpy.array(parts)))
        elif self.opset >= 18:
            attributes["num_outputs"] = 2
        words = " ".join([*(f'input: "{one}"' for one in inputs), *(f'output: "{one}"' for one in names)])
        given = " ".join(attribute(name, value) for name, value in attributes.items())
        self.nodes.append(f'node {{ op_type: "Split" name: "split{self.names}" {words} {given} }}')
        for name, part in zip(names, parts):
            self.values.append(Value(name, [*x.shape[:axis], part, *x.shape[axis + 1:]]))

    def gather(self, x):
        axis = 1 + self.below(x.rank - 1)
        length = x.shape[axis]
        if x.rank > 2 and self.one_in(3):
            return self.add("Gather", [*x.shape[:axis], *x.shape[axis + 1:]],
                            [x, self.constant(numpy.array(self.below(length)))], axis=axis)
        count = 1 + self.below(5)
        indices = self.rng.integers(0 if self.opset < 11 else -length, length, count)
        shape = [*x.shape[:axis], count, *x.shape[axis + 1:]]
        return self.add("Gather", shape, [x, self.constant(indices)], axis=axis)

    def exported_pad(self, x):
        """The nodes that PyTorch exports for F.pad: the last axis comes first, and zeros for the others are appended."""
        if self.opset < 11:
            return
        pads = [self.below(3) for _ in range(2 * (x.rank - 1))]
        rest = self.node("ConstantOfShape", [self.constant(numpy.array([2]))], value=numpy.zeros(1, "<i8"))
        all_pads = self.node("Concat", [self.constant(numpy.array(pads)), rest], axis=0)
        rows = self.node("Reshape", [all_pads, self.constant(numpy.array([-1, 2]))])
        ends = [self.constant(numpy.array([one])) for one in (-1, -(2**63) + 1, 0, -1)]
        turned = self.node("Transpose", [self.node("Slice", [rows, *ends])], perm=[1, 0])
        flat = self.node("Cast", [self.node("Reshape", [turned, self.constant(numpy.array([-1]))])], to=7)
        shape = [n + sum(pads[2 * (x.rank - 1 - axis):][:2]) if axis else n for axis, n in enumerate(x.shape)]
        self.add("Pad", shape, [x, flat], mode="constant")

    def gemm(self, x):
        if x.rank != 2:
            return
        transposed = not self.open_batch and self.one_in(3)
        if transposed:
            x = Value(self.node("Transpose", [x], perm=[1, 0]), x.shape[::-1])
        terms = x.shape[0 if transposed else 1]
        outputs = 1 + self.below(20)
        by_rows = self.one_in(2)
        inputs = [x, self.constant(self.weights((outputs, terms) if by_rows else (terms, outputs), terms))]
        if self.opset < 11 or not self.one_in(3):
            shapes = [(outputs,), (1, outputs), (1,), (1, 1)] + ([()] if self.opset >= 9 else [])
            if not self.open_batch:
                shapes += [(self.images, outputs), (self.images, 1)]
            inputs.append(self.constant(self.numbers(self.among(shapes))))
        self.add("Gemm", (self.images, outputs), inputs, transA=int(transposed), transB=int(by_rows),
                 alpha=self.among([None, 1.0, 0.5, -1.25]), beta=self.among([None, 1.0, 0.75, 0.0]))

    def product(self, x):
        outputs = 1 + self.below(10)
        matrix = self.constant(self.weights((x.shape[-1], outputs), x.shape[-1]))
        self.add("MatMul", (*x.shape[:-1], outputs), [x, matrix])

    def softmax(self, x):
        axis = 1 + self.below(x.rank - 1)
        self.add("Softmax", x.shape, [x], axis=axis - x.rank if self.opset >= 11 and self.one_in(2) else axis)

    def mean(self, x):
        axes = [axis for axis in range(1, x.rank) if self.one_in(2)]
        keep = self.below(2)
        if not axes or (not keep and x.rank - len(axes) < 2):
            return
        shape = [1 if axis in axes else length for axis, length in enumerate(x.shape) if keep or axis not in axes]
        if self.opset < 18:
            self.add("ReduceMean", shape, [x], axes=axes, keepdims=keep)
        else:
            self.add("ReduceMean", shape, [x, self.constant(numpy.array(axes))], keepdims=keep)

    def unchanged(self, x):
        kind = self.among(["Identity", "Dropout", "Cast"])
        self.add(kind, x.shape, [x], **({"to": 1} if kind == "Cast" else {}))

    def norm(self, x):
        numbers = [self.constant(self.numbers(x.shape[1], *bounds)) for bounds in [(0.5, 1.5), (-0.5, 0.5), (-0.5, 0.5)]]
        numbers.append(self.constant(self.numbers(x.shape[1], 0.3, 1.2)))
        self.add("BatchNormalization", x.shape, [x, *numbers], epsilon=self.among([None, 1e-3]))

    def bounded(self, x):
        """The value moved into [-1, 1]: what functions of a library and products of two values take, so that nothing explodes."""
        return Value(self.node("Tanh", [x]), x.shape)

    def function(self, x):
        kinds = ["Exp", "Erf", "Abs", "Softplus", "Elu", "Selu", "Softsign", "Sin", "Cos", "Sqrt", "Log", "Reciprocal", "Neg",
                 "LogSoftmax", "Celu", "Mish", "Gelu"]
        since = {"Erf": 9, "Celu": 12, "Mish": 18, "Gelu": 20}
        kind = self.among([kind for kind in kinds if since.get(kind, 0) <= self.opset])
        x = self.bounded(x)
        if kind in ("Sqrt", "Log", "Reciprocal"):  # of numbers from 1/2 to 5/2
            x = Value(self.node("Add", [x, self.constant(numpy.array([1.5]))]), x.shape)
        given = {}
        if kind in ("Elu", "Celu") and self.one_in(2):
            given["alpha"] = self.real(0.3, 1.5)
        if kind == "LogSoftmax":
            given["axis"] = 1 + self.below(x.rank - 1) if self.opset >= 13 else x.rank - 1
        if kind == "Gelu":
            given["approximate"] = self.among([None, "none", "tanh"])
        return self.add(kind, x.shape, [x], **given)

    def power(self, x):
        x = self.bounded(x)
        if self.one_in(2):
            return self.add("Pow", x.shape, [x, self.constant(numpy.array(float(self.among([1, 2, 3]))))])
        positive = Value(self.node("Add", [x, self.constant(numpy.array([1.5]))]), x.shape)
        return self.add("Pow", x.shape, [positive, self.constant(self.numbers(self.among([(), (x.shape[-1],)]), -1.5, 1.5))])

    def extreme(self, x):
        kind = self.among(["Max", "Min", "Sum", "Mean"])
        others = [value for value in self.values if value.shape == x.shape]
        inputs = [x] + [self.among(others) for _ in range(self.below(3))]
        if kind in ("Max", "Min") and self.opset >= 8 and self.one_in(2):
            inputs.append(self.constant(self.numbers((x.shape[-1],))))
        self.add(kind, x.shape, inputs)

    def reduction(self, x):
        axes = [axis for axis in range(1, x.rank) if self.one_in(2)]
        keep = self.below(2)
        if not axes or (not keep and x.rank - len(axes) < 2):
            return
        kind = self.among(["ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"])
        shape = [1 if axis in axes else length for axis, length in enumerate(x.shape) if keep or axis not in axes]
        x = self.bounded(x)
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            self.add(kind, shape, [x, self.constant(numpy.array(axes))], keepdims=keep)
        else:
            self.add(kind, shape, [x], axes=axes, keepdims=keep)

    def layer_norm(self, x):
        if self.opset < 17:
            return
        axis = 1 + self.below(x.rank - 1)
        inputs = [x, self.constant(self.numbers(x.shape[axis:], 0.5, 1.5))]
        if self.one_in(2):
            inputs.append(self.constant(self.numbers(x.shape[axis:], -0.5, 0.5)))
        self.add("LayerNormalization", x.shape, inputs, axis=axis - x.rank if self.one_in(2) else axis, epsilon=0.01)

    def instance_norm(self, x):
        numbers = [self.constant(self.numbers(x.shape[1], *bounds)) for bounds in [(0.5, 1.5), (-0.5, 0.5)]]
        self.add("InstanceNormalization", x.shape, [x, *numbers], epsilon=0.01)

    def local_norm(self, x):
        self.add("LRN", x.shape, [x], size=self.among([1, 3, 5]), alpha=self.real(0.01, 0.5), beta=self.real(0.3, 0.8), bias=1.0)

    def product_of_two(self, x):
        """A value times itself turned, as in attention."""
        if x.rank < 3:
            return
        turned = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
        x = self.bounded(x)
        self.add("MatMul", (*x.shape[:-1], x.shape[-2]), [x, self.node("Transpose", [x], perm=turned)])

    def expand(self, x):
        ones = [axis for axis in range(1, x.rank) if x.shape[axis] == 1]
        if not ones or self.opset < 8:
            return
        shape = [1, *(2 + self.below(4) if axis in ones and self.one_in(2) else x.shape[axis] for axis in range(1, x.rank))]
        self.add("Expand", (x.shape[0], *shape[1:]), [x, self.constant(numpy.array(shape))])

    def tile(self, x):
        times = [1, *(1 + self.below(2) for _ in x.shape[1:])]
        self.add("Tile", [length * count for length, count in zip(x.shape, times)], [x, self.constant(numpy.array(times))])

    def choice(self, x):
        """Where, by constants that are compared."""
        if self.opset < 11:
            return
        kind = self.among(["Equal", "Less", "Greater"])
        lists = [self.constant(self.rng.integers(0, 3, x.shape[-1])) for _ in range(2)]
        other = self.among([value for value in self.values if value.shape == x.shape])
        chosen = [x, other if self.one_in(2) else self.constant(numpy.array([self.real(-1, 1)]))]
        self.add("Where", x.shape, [self.node(kind, lists), *chosen])

    def quantized(self, x):
        """Weights of integers, of one tensor or of channels."""
        if self.opset < 13 or x.rank != 4:
            return
        filters = 1 + self.below(5)
        shape = (filters, x.shape[1], 1, 1)
        by_channel = self.one_in(2)
        scale = self.constant(self.numbers(filters if by_channel else (), 0.002, 0.01))
        numbers = self.rng.integers(-128, 128, shape).astype("i1")
        zero = self.rng.integers(-3, 4, filters if by_channel else ()).astype("i1") if self.one_in(2) else None
        inputs = [self.integers(numbers), scale] + ([self.integers(zero)] if zero is not None else [])
        weights = self.node("DequantizeLinear", inputs, axis=0)
        self.add("Conv", (x.shape[0], filters, *x.shape[2:]), [x, weights])

    def integers(self, array):
        """An initializer of 8 bits."""
        array = numpy.asarray(array)
        name = self.name()
        self.initializers.append(f'initializer {{ name: "{name}" {tensor_fields(array)} }}')
        return name

    def blocks(self, x):
        images, channels, rows, columns = x.shape
        block = 2
        if channels % 4 == 0 and self.one_in(2):
            given = {"mode": self.among(["DCR", "CRD"])} if self.opset >= 11 else {}
            return self.add("DepthToSpace", (images, channels // 4, 2 * rows, 2 * columns), [x], blocksize=block, **given)
        if rows % 2 == 0 and columns % 2 == 0:
            return self.add("SpaceToDepth", (images, 4 * channels, rows // 2, columns // 2), [x], blocksize=block)
        return None

    def mirrored_pad(self, x):
        lengths = x.shape[2:]
        pads = [self.below(min(length, 3)) for length in lengths] + [self.below(min(length, 3)) for length in lengths]
        shape = (*x.shape[:2], *(length + pads[i] + pads[2 + i] for i, length in enumerate(lengths)))
        every = [0, 0, *pads[:2], 0, 0, *pads[2:]]
        mode = self.among(["reflect", "edge"])
        if self.opset < 11:
            return self.add("Pad", shape, [x], pads=every, mode=mode)
        return self.add("Pad", shape, [x, self.constant(numpy.array(every))], mode=mode)
