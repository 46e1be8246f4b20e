// Texts that end without a newline: they may have been cut within their last number, which then has another value.

#include <fmt/format.h>

#include "io/arrays/class_names.hpp"
#include "io/arrays/labels.hpp"
#include "io/networks/directory/layer_names.hpp"
#include "io/networks/text/gz.hpp"
#include "io/networks/text/source.hpp"
#include "spdnn/files.hpp"
#include "support/sampled.hpp"
#include "support/tsv_support.hpp"

namespace spdnn {
namespace {

using test::error_of;
using test::Scratch;
using test::write;

const std::string cut_refusal =
    "the file ends within a line and may be truncated, expected a newline at its end (--allow-missing-newline accepts "
    "the line)";

std::string note_on(const Path& path) {
  return path.string() + ": the last line has no newline: the file may be cut off";
}

/// The text and its file, in each form that layers may have.
struct LayerText {
  std::string name;
  std::string text;
};
const std::vector<LayerText> layer_texts{
    {"n4-l1.tsv", "1\t2\t6.250000e-02\n4\t4\t2.500000e-01\n"},
    {"n4-l1.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 2\n1 2 6.25e-2\n4 4 2.5e-1\n"}};

std::string as_stored(const std::string& name, const std::string& text) {
  return name.ends_with(".gz") ? gzip(text) : text;
}

TEST(MissingNewline, NoLayerThatIsCutWithinALineIsRead) {
  const Scratch scratch;
  for (const LayerText& layer : layer_texts)
    for (const std::string& name : {layer.name, layer.name + ".gz"}) {
      const std::size_t step = testing::sampled(name.ends_with(".gz") ? 5U : 2U, 1U);
      for (std::size_t size = layer.text.size(); size > 0; size -= std::min(size, step)) {
        const std::string cut = layer.text.substr(0, size);
        write(scratch / name, as_stored(name, cut));
        // A TSV that was cut between two lines does not reveal the missing ones.
        const bool whole = size == layer.text.size() || (cut.ends_with('\n') && name.starts_with("n4-l1.tsv"));
        EXPECT_EQ(error_of([&] { read_network(scratch.path(), {}); }) == "no error", whole) << name << ": " << cut;
      }
      std::filesystem::remove(scratch / name);
    }
}

TEST(MissingNewline, OfLayersIsRefusedAtTheEndOfTheTextOrAllowedWithANote) {
  const Scratch scratch;
  for (const LayerText& layer : layer_texts)
    for (const std::string& name : {layer.name, layer.name + ".gz"}) {
      const Path path = scratch / name;
      const std::string cut = layer.text.substr(0, layer.text.size() - 1);
      write(path, as_stored(name, cut));
      const auto lines = std::count(cut.begin(), cut.end(), '\n') + 1;
      const auto column = cut.size() - cut.rfind('\n');
      EXPECT_EQ(error_of([&] { read_network(scratch.path(), {}); }),
                fmt::format("{}:{}:{}: {}", path.string(), lines, column, cut_refusal));
      const NetworkFile allowed = read_network(scratch.path(), {.allow_missing_newline = true});
      EXPECT_EQ(allowed.notes, FileNotes{note_on(path)});
      EXPECT_EQ(allowed.network.edges(), 2U);
      std::filesystem::remove(path);
    }
}

TEST(MissingNewline, OfBiasesIsRefusedOrAllowedWithANote) {
  const Scratch scratch;
  write(scratch / "n2-l1.tsv", "1\t2\t1\n");
  const Path path = scratch / "n2-l1-bias.tsv";
  write(path, "1\t-0.25\n2\t-0.");
  EXPECT_EQ(error_of([&] { read_network(scratch.path(), {}); }), path.string() + ":2:6: " + cut_refusal);
  const NetworkFile allowed = read_network(scratch.path(), {.allow_missing_newline = true});
  EXPECT_EQ(allowed.notes, FileNotes{note_on(path)});
  EXPECT_EQ(allowed.network.layers[0].bias.max(), 0);
}

TEST(MissingNewline, IsRefusedOfALongTextInManyRoundsToo) {
  const Scratch scratch;
  std::string text;
  for (int i = 1; i <= 200'000; ++i) text += fmt::format("{}\t{}\t0.5\n", i, i);
  write(scratch / "n200000-l1.tsv", text);
  EXPECT_EQ(read_network(scratch.path(), {}).network.edges(), 200'000U);
  text.pop_back();
  write(scratch / "n200000-l1.tsv", text);
  EXPECT_EQ(error_of([&] { read_network(scratch.path(), {}); }),
            (scratch / "n200000-l1.tsv").string() + ":200000:18: " + cut_refusal);
}

TEST(MissingNewline, OfLayersThatAreReadOneAtATimeIsRefusedOrAllowed) {
  const Scratch scratch;
  write(scratch / "n2-l1.tsv", "1\t2\t0.5\n");
  write(scratch / "n2-l2.tsv", "1\t2\t0.5");
  const auto strict = open_layer_files(scratch.path(), {});
  ASSERT_TRUE(strict);
  EXPECT_EQ(strict->layers->read(0).weights.entries(), 1U);
  EXPECT_EQ(error_of([&] { strict->layers->read(1); }), (scratch / "n2-l2.tsv").string() + ":1:8: " + cut_refusal);
  const auto allowing = open_layer_files(scratch.path(), {.allow_missing_newline = true});
  EXPECT_EQ(allowing->layers->read(1).weights.entries(), 1U);
  EXPECT_EQ(allowing->notes.size(), 1U);
}

TEST(MissingNewline, OfImagesCategoriesLabelsAndNamesIsNoted) {
  const Scratch scratch;
  const auto notes_of = [&](const std::string& name, const std::string& text) {
    write(scratch / name, as_stored(name, text));
    FileNotes notes;
    if (name.starts_with("truth"))
      read_categories(scratch / name, &notes);
    else if (name.starts_with("names"))
      read_class_names(scratch / name, 2, &notes);
    else if (name.starts_with("labels"))
      read_labels(scratch / name, 2, 100, &notes);
    else
      read_images(scratch / name, 4, 3, &notes);
    return notes;
  };
  const std::vector<LayerText> texts{{"images.tsv", "1\t2\t1\n3\t4\t0.25\n"},
                                     {"images.tsv.gz", "1\t2\t1\n3\t4\t1\n"},
                                     {"images.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 1\n3 4 0.25\n"},
                                     {"truth.tsv", "1\n23\n"},
                                     {"truth.tsv.gz", "1\n23\n"},
                                     {"labels.txt", "7\n12\n"},
                                     {"labels.csv", "image,class\n1,7\n2,12\n"},
                                     {"names.txt", "cat\ndog\n"}};
  for (const LayerText& file : texts) {
    EXPECT_EQ(notes_of(file.name, file.text), FileNotes{}) << file.name;
    EXPECT_EQ(notes_of(file.name, file.text.substr(0, file.text.size() - 1)), FileNotes{note_on(scratch / file.name)});
  }
}

TEST(MissingNewline, IsAskedForOnlyWhereThereIsText) {
  const Scratch scratch;
  write(scratch / "n2-l1.tsv", "");
  write(scratch / "n2-l2.tsv", "1\t2\t1\r\n\n  \n");
  const NetworkFile file = read_network(scratch.path(), {});
  EXPECT_EQ(file.notes, FileNotes{(scratch / "n2-l1.tsv").string() + ": the file is empty: a layer without edges"});
  write(scratch / "truth.tsv", "");
  FileNotes notes;
  EXPECT_TRUE(read_categories(scratch / "truth.tsv", &notes).empty());
  EXPECT_EQ(notes, FileNotes{(scratch / "truth.tsv").string() + ": the file is empty: no image is a category"});
}

}  // namespace
}  // namespace spdnn
