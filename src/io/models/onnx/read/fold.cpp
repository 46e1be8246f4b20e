#include "io/models/onnx/read/fold.hpp"

#include <algorithm>
#include <cmath>

#include "core/types/shape.hpp"

namespace spdnn::onnx_reader {

namespace {

std::size_t element_count(const Shape& shape) { return static_cast<std::size_t>(elements(shape).value()); }

/// The number of elements of an axis up to `after`'s end, and before it.
struct Around {
  std::size_t before, after;
};
Around around(const Shape& shape, std::size_t axis) {
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  return {element_count(Shape(shape.begin(), at)), element_count(Shape(at + 1, shape.end()))};
}

/// A constant of this shape and the type of `like`, filled by `fill(to)`.
template <class Fill>
Constant filled(const Constant& like, const Shape& shape, Fill fill) {
  return std::visit(
      [&]<class T>(const Array<T>& from) -> Constant {
        const std::size_t count = element_count(shape);
        const std::shared_ptr<T[]> to = allocate<T>(count);
        fill(from.data(), to.get());
        return {shape, Array<T>(to, count)};
      },
      like.values);
}

/// Calls visit(a, b) with the broadcast element indices of `a` and `b`, in the order of the result.
template <class Visit>
void for_pairs(const Shape& a, const Shape& b, const Shape& shape, Visit visit) {
  const auto steps = [&](const Shape& one) {
    std::vector<std::size_t> strides(shape.size(), 0);
    const std::vector<Extent> own = strides_of(one);
    for (std::size_t i = 0; i < one.size(); ++i)
      if (one[i] != 1) strides[shape.size() - one.size() + i] = own[i];
    return strides;
  };
  const std::vector<std::size_t> a_steps = steps(a);
  const std::vector<std::size_t> b_steps = steps(b);
  const std::vector<Extent> strides = strides_of(shape);
  const std::size_t count = element_count(shape);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t a_at = 0;
    std::size_t b_at = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::size_t place = i / strides[axis] % static_cast<std::size_t>(shape[axis]);
      a_at += place * a_steps[axis];
      b_at += place * b_steps[axis];
    }
    visit(a_at, b_at);
  }
}

std::optional<std::int64_t> integer_of(Elementwise::Kind kind, std::int64_t a, std::int64_t b) {
  if (a == kImages || b == kImages) {
    const bool first = a == kImages;
    const std::int64_t other = first ? b : a;
    if (kind == Elementwise::Kind::multiply && (other == 0 || other == 1)) return other == 0 ? 0 : kImages;
    if (kind == Elementwise::Kind::add && other == 0) return kImages;
    if (first && kind == Elementwise::Kind::subtract && other == 0) return kImages;
    if (first && kind == Elementwise::Kind::divide && other == 1) return kImages;
    return std::nullopt;
  }
  std::int64_t result = 0;
  bool overflow = false;
  switch (kind) {
    case Elementwise::Kind::add:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Elementwise::Kind::subtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Elementwise::Kind::multiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Elementwise::Kind::divide:
      if (b == 0 || b == -1) {  // the smallest integer has no positive counterpart
        overflow = b == 0 || __builtin_sub_overflow(std::int64_t{0}, a, &result);
      } else {
        result = a / b;
      }
      break;
    case Elementwise::Kind::maximum:
      result = std::max(a, b);
      break;
    case Elementwise::Kind::minimum:
      result = std::min(a, b);
      break;
    case Elementwise::Kind::power: {
      overflow = b < 0;
      result = 1;
      const std::int64_t factors = a == 1 || a == -1 ? b % 2 : b;  // powers of others are 0, or soon overflow
      for (std::int64_t i = 0; i < factors && !overflow && result != 0; ++i)
        overflow = __builtin_mul_overflow(result, a, &result);
      break;
    }
  }
  if (overflow || result == kImages) return std::nullopt;
  return result;
}

float number_of(Elementwise::Kind kind, float a, float b) {
  switch (kind) {
    case Elementwise::Kind::add:
      return a + b;
    case Elementwise::Kind::subtract:
      return a - b;
    case Elementwise::Kind::multiply:
      return a * b;
    case Elementwise::Kind::maximum:
      return std::isnan(a) || a > b ? a : b;
    case Elementwise::Kind::minimum:
      return std::isnan(a) || a < b ? a : b;
    case Elementwise::Kind::power:
      return std::pow(a, b);
    case Elementwise::Kind::divide:
      break;
  }
  return a / b;
}

bool holds(Relation relation, auto a, auto b) {
  if (relation == Relation::equal) return a == b;
  return relation == Relation::greater ? a > b : a < b;
}

std::optional<bool> related_integers(Relation relation, std::int64_t a, std::int64_t b) {
  if (a == kImages && b < 1) a = 1;  // all numbers of images are in the same relation to b
  if (b == kImages && a < 1) b = 1;
  if (a != b && (a == kImages || b == kImages)) return std::nullopt;
  return holds(relation, a, b);
}

}  // namespace

Constant taken(const Constant& from, std::size_t axis, std::span<const std::int64_t> positions) {
  Shape shape = from.shape;
  const auto length = static_cast<std::size_t>(shape[axis]);
  shape[axis] = static_cast<Extent>(positions.size());
  const Around sizes = around(from.shape, axis);
  return filled(from, shape, [&](const auto* elements, auto* to) {
    for (std::size_t before = 0; before < sizes.before; ++before)
      for (const std::int64_t position : positions)
        to = std::copy_n(elements + (before * length + static_cast<std::size_t>(position)) * sizes.after, sizes.after,
                         to);
  });
}

Constant joined(std::span<const Constant* const> parts, std::size_t axis) {
  Shape shape = parts[0]->shape;
  shape[axis] = 0;
  for (const Constant* part : parts) shape[axis] += part->shape[axis];
  const std::size_t before = around(shape, axis).before;
  return filled(*parts[0], shape, [&]<class T>(const T*, T* to) {
    for (std::size_t row = 0; row < before; ++row) {
      for (const Constant* part : parts) {
        const std::size_t length = part->size() / before;
        to = std::copy_n(std::get<Array<T>>(part->values).data() + row * length, length, to);
      }
    }
  });
}

Constant transposed(const Constant& from, std::span<const Index> order) {
  const std::vector<Extent> strides = strides_of(from.shape);
  Shape shape;
  std::vector<std::size_t> steps;
  for (const Index axis : order) {
    shape.push_back(from.shape[axis]);
    steps.push_back(strides[axis]);
  }
  const std::vector<Extent> places = strides_of(shape);
  return filled(from, shape, [&](const auto* elements, auto* to) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::size_t at = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        at += i / places[axis] % static_cast<std::size_t>(shape[axis]) * steps[axis];
      to[i] = elements[at];
    }
  });
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Extent& extent = shape[shape.size() - shorter.size() + i];
    if (extent == 1) {
      extent = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != extent) {
      return std::nullopt;
    }
  }
  return shape;
}

std::optional<Constant> combined(Elementwise::Kind kind, const Constant& a, const Constant& b, const Shape& shape) {
  if (!a.integers()) {
    std::vector<float> numbers;
    for_pairs(a.shape, b.shape, shape,
              [&](std::size_t i, std::size_t j) { numbers.push_back(number_of(kind, a.floats()[i], b.floats()[j])); });
    return Constant{shape, Array<float>(std::move(numbers))};
  }
  std::vector<std::int64_t> numbers;
  bool sound = true;
  for_pairs(a.shape, b.shape, shape, [&](std::size_t i, std::size_t j) {
    const auto number = integer_of(kind, a.ints()[i], b.ints()[j]);
    sound = sound && number.has_value();
    numbers.push_back(number.value_or(0));
  });
  if (!sound) return std::nullopt;
  return Constant{shape, Array<std::int64_t>(std::move(numbers))};
}

std::optional<Constant> related(Relation relation, const Constant& a, const Constant& b, const Shape& shape) {
  std::vector<std::int64_t> truths;
  bool known = true;
  for_pairs(a.shape, b.shape, shape, [&](std::size_t i, std::size_t j) {
    const std::optional<bool> truth = a.integers() ? related_integers(relation, a.ints()[i], b.ints()[j])
                                                   : holds(relation, a.floats()[i], b.floats()[j]);
    known = known && truth.has_value();
    truths.push_back(truth.value_or(false) ? 1 : 0);
  });
  if (!known) return std::nullopt;
  return Constant{shape, Array<std::int64_t>(std::move(truths))};
}

}  // namespace spdnn::onnx_reader
