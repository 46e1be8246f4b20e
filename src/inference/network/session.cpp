// Sessions of networks: the plan stays resident and takes one set of images after another.

#include "spdnn/session.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "core/threads/parallel.hpp"
#include "inference/network/planned_network.hpp"
#include "inference/network/streaming.hpp"
#include "inference/run/activations.hpp"
#include "inference/run/run.hpp"
#include "inference/run/session_lock.hpp"

namespace spdnn {

class NetworkSession::Contents {
 public:
  Contents(PlannedNetwork network, const NetworkSessionSettings& settings)
      : network_(std::move(network)),
        plan_(network_.contents_->plan),
        request_(engine_request(settings)),
        host_memory_(settings.host_memory) {
    require_threads(settings.threads);
    if (settings.activations) require_exact_activations(plan_.passes);
    options_.engine.threads = host_threads(settings.threads);
    options_.engine.device = settings.cuda_device;
    options_.engine.device_memory = settings.device_memory;
    options_.engine.cancelled = [this] { return cancelled_ && cancelled_(); };
    options_.batch = settings.batch;
    options_.keep_activations = settings.activations;
    options_.kept = &engines_;
    choose({.images = std::max<Index>(1, settings.batch), .neurons = plan_.inputs(), .largest = 1});
    if (settings.batch != 0) run_chosen({BitMatrix{0, plan_.inputs(), {}}});
  }

  Outcome run(const ImageSet& images, const std::function<bool()>& cancelled) {
    const auto alone = lock_session(running_);
    images.validate();
    cancelled_ = cancelled;
    choose(facts_of(images));
    return run_chosen(images);
  }

  const PlannedNetwork& network() const { return network_; }
  const std::string& variant() const { return variant_; }
  const EngineOptions& options() const { return options_.engine; }
  Index batch() const { return engines_.batch.images; }

 private:
  /// As Inference chooses for these images: the same for other images of their kind.
  void choose(const ImageFacts& images) {
    options_.engine.host_memory = host_memory_for_engine(host_memory_, plan_, images.bytes);
    ImageFacts kind = images;
    kind.images = 0;
    kind.bytes = 0;
    if (kind == kind_) return;
    const EngineChoice choice = choose_engine(request_, plan_, images, options_.engine);
    options_.engine.precision = choice.precision;
    variant_ = choice.variant->name;
    chosen_ = plan_for(plan_, images, choice.precision);
    kind_ = kind;
  }

  Outcome run_chosen(const ImageSet& images) {
    Outcome outcome = spdnn::run(find_variant(variant_), chosen_, images, options_).outcome;
    if (outcome.activations) outcome.activations = given_activations(*outcome.activations, *chosen_.plan);
    return outcome;
  }

  const PlannedNetwork network_;
  const Plan& plan_;
  const EngineRequest request_;
  const std::size_t host_memory_;
  std::mutex running_;
  std::function<bool()> cancelled_;  ///< of the run under way
  RunOptions options_;
  std::optional<ImageFacts> kind_;  ///< for which the next two are chosen
  std::string variant_;
  RunPlan chosen_;
  KeptEngines engines_;
};

NetworkSession::NetworkSession(PlannedNetwork network, const NetworkSessionSettings& settings)
    : contents_(std::make_unique<Contents>(std::move(network), settings)) {}
NetworkSession::NetworkSession(NetworkSession&&) noexcept = default;
NetworkSession& NetworkSession::operator=(NetworkSession&&) noexcept = default;
NetworkSession::~NetworkSession() = default;

Outcome NetworkSession::run(const ImageSet& images, const std::function<bool()>& cancelled) const {
  return contents_->run(images, cancelled);
}

const PlannedNetwork& NetworkSession::network() const { return contents_->network(); }
const std::string& NetworkSession::variant() const { return contents_->variant(); }
Precision NetworkSession::precision() const { return contents_->options().precision; }
Index NetworkSession::batch() const { return contents_->batch(); }
int NetworkSession::threads() const { return contents_->options().threads; }

}  // namespace spdnn
