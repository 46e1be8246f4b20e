#include "report/conv_line.hpp"

#include "report/line_parts.hpp"

namespace spdnn {

namespace {

double share_at(const JsonFields& line, JsonFields::Path path) {
  const double number = line.number(path);
  if (number > 1) line.fail(path, "expected a share from 0 to 1");
  return number;
}

double conv_median(const JsonFields& line, std::uint64_t batch) {
  const double median = line.number({"seconds", "p50"});
  check_rate(line, "images_per_second", static_cast<double>(batch), median, "images");
  return median;
}

ConvPeerLine conv_peer(const JsonFields& with, std::uint64_t batch) {
  ConvPeerLine peer{.kernel = with.text({"kernel"}),
                    .with = with.text({"library"}) + " in " + with.text({"precision"}),
                    .median = conv_median(with, batch),
                    .ratio = with.spread({"ratio"})};
  if (peer.ratio.min <= 0) with.fail({"ratio", "min"}, "expected a number above 0");
  return peer;
}

std::optional<ConvPublished> published_of(const JsonFields& line) {
  const Json* const found = line.find({"published"});
  if (found == nullptr || found->is_null()) return std::nullopt;
  const JsonFields published = line.part("published");
  ConvPublished times{published.text({"source"}), published.text({"device"}), {}};
  const JsonFields seconds = published.part("seconds");
  for (const auto& [kernel, time] : published.at({"seconds"}).items())
    times.seconds.emplace_back(JsonFields::printable(kernel), seconds.number({kernel.c_str()}));
  return times;
}

}  // namespace

ConvLine conv_of(const JsonFields& line) {
  ConvLine conv{.table = line.text({"table"}),
                .layer = line.text({"layer"}),
                .variant = line.text({"variant"}),
                .kernel = line.text({"kernel"}),
                .batch = line.count({"batch"}),
                .runs = line.count({"runs"}),
                .sparsity = share_at(line, {"sparsity"}),
                .kept = share_at(line, {"kept"}),
                .multiply_adds = line.number({"multiply_adds"}),
                .bytes = line.number({"bytes"}),
                .load = line.number({"load"}),
                .origin = origin_of(line)};
  if (line.find({"input_sparsity"}) != nullptr) conv.input_sparsity = share_at(line, {"input_sparsity"});
  conv.median = conv_median(line, conv.batch);
  const JsonFields with = line.part("with");
  for (const auto& [key, peer] : line.at({"with"}).items())
    if (!peer.is_null()) conv.with.push_back(conv_peer(with.part(key.c_str()), conv.batch));
  conv.published = published_of(line);
  return conv;
}

}  // namespace spdnn
