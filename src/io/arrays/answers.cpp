#include "io/arrays/answers.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "core/text/csv.hpp"
#include "io/arrays/npy.hpp"
#include "io/networks/text/sink.hpp"

namespace spdnn {

namespace {

std::string image_text(const AnswerNames& names, std::size_t image) {
  return names.images.empty() ? std::to_string(image + 1) : csv_field(names.images[image]);
}

/// Writes lines in pieces of a megabyte or more.
class Lines {
 public:
  explicit Lines(AtomicFile& file) : file_(file) {}
  void add(const std::string& line) {
    text_ += line + '\n';
    if (text_.size() >= kAtOnce) flush();
  }
  void flush() {
    file_.write(text_);
    text_.clear();
  }

 private:
  static constexpr std::size_t kAtOnce = std::size_t{1} << 20U;
  AtomicFile& file_;
  std::string text_;
};

}  // namespace

void write_predictions(AtomicFile& file, std::span<const Index> classes, const AnswerNames& names, OutputForm form) {
  if (form == OutputForm::npy) {
    write_npy(file, IntegerTensor{{static_cast<Extent>(classes.size())},
                                  std::vector<std::int64_t>(classes.begin(), classes.end())});
    return;
  }
  const bool csv = form == OutputForm::csv;
  Lines lines(file);
  if (csv) lines.add(names.classes.empty() ? "image,class" : "image,class,name");
  for (std::size_t image = 0; image < classes.size(); ++image) {
    const std::string number = std::to_string(classes[image]);
    const std::string name = names.classes.empty() ? "" : "," + csv_field(names.classes[classes[image]]);
    lines.add(csv ? fmt::format("{},{}{}", image_text(names, image), number, name) : number);
  }
  lines.flush();
}

void write_logits(AtomicFile& file, const Tensor& logits, const AnswerNames& names, OutputForm form) {
  if (form == OutputForm::npy) return write_npy(file, logits);
  const bool csv = form == OutputForm::csv;
  const auto images = static_cast<std::size_t>(logits.shape.empty() ? 0 : logits.shape[0]);
  const std::size_t each = images == 0 ? 0 : logits.values.size() / images;
  Lines lines(file);
  std::string line = "image";
  for (std::size_t i = 0; i < each; ++i)
    line += "," + (names.classes.size() == each ? csv_field(names.classes[i]) : std::to_string(i));
  if (csv) lines.add(line);
  for (std::size_t image = 0; image < images; ++image) {
    line = csv ? image_text(names, image) : "";
    for (std::size_t i = 0; i < each; ++i) {
      if (!line.empty()) line += csv ? ',' : ' ';
      line += value_text(logits.values[image * each + i]);
    }
    lines.add(line);
  }
  lines.flush();
}

}  // namespace spdnn
