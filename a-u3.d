u3.o: /tmp/wc/u3.cpp tests/unit/io/networks/text_parts_test.cpp \
 src/io/networks/text/source.hpp src/io/files/input_file.hpp \
 src/core/system/descriptor.hpp src/io/networks/text/gz.hpp \
 include/spdnn/error.hpp tests/temporary_directory.hpp \
 tests/unit/io/networks/text_pieces_test.cpp \
 src/io/networks/text/matrix_market.hpp \
 src/io/networks/text/tsv_reader.hpp src/io/networks/text/tsv_entries.hpp \
 src/io/networks/text/tsv_line.hpp include/spdnn/types.hpp \
 include/spdnn/categories.hpp include/spdnn/csr_matrix.hpp \
 include/spdnn/array.hpp include/spdnn/images.hpp \
 include/spdnn/network.hpp src/io/networks/text/sink.hpp \
 src/io/files/atomic_file.hpp src/io/files/output_target.hpp \
 src/io/files/temporaries.hpp src/io/networks/text/some_images.hpp \
 tests/support/tsv_support.hpp tests/support/message_of.hpp \
 tests/unit/io/networks/tsv_files_test.cpp \
 src/io/networks/directory/layer_names.hpp \
 src/core/types/layer_stream.hpp include/spdnn/files.hpp \
 include/spdnn/model.hpp include/spdnn/tensor.hpp \
 include/spdnn/weights.hpp include/spdnn/values.hpp \
 include/spdnn/activations.def include/spdnn/operations.def \
 include/spdnn/progress.hpp src/io/networks/text/tsv_writer.hpp \
 tests/support/matrix_builder.hpp \
 tests/unit/io/networks/tsv_images_test.cpp \
 tests/unit/io/networks/tsv_reader_test.cpp \
 src/io/networks/text/csr_builder.hpp \
 src/io/networks/text/growing_array.hpp src/core/system/host_memory.hpp \
 tests/unit/io/packed/entropy_coding_test.cpp \
 src/io/packed/entropy_coding.hpp tests/support/models.hpp \
 tests/support/networks.hpp src/core/types/plan.hpp \
 include/spdnn/passes.hpp tests/unit/io/packed/image_digest_test.cpp \
 src/io/packed/digests.hpp src/io/packed/read_write.hpp \
 tests/unit/io/packed/packed_damage_test.cpp src/io/packed/file.hpp \
 src/io/packed/format.hpp src/io/packed/image_layout.hpp \
 tests/packed_seal.hpp tests/support/packed_samples.hpp \
 tests/unit/io/packed/packed_plans_test.cpp src/io/packed/stored_plan.hpp \
 tests/support/equal.hpp tests/support/engines.hpp \
 src/core/types/counted_csr.hpp src/core/threads/parallel.hpp \
 src/core/threads/parallel_rows.hpp src/engines/engine.hpp \
 src/engines/support.hpp src/core/types/program_step.hpp \
 include/spdnn/outcome.hpp src/engines/reference/engine.hpp \
 src/engines/variant_lines.hpp src/engines/model_engine.hpp \
 tests/unit/io/packed/packed_streams_test.cpp src/io/packed/layers.hpp \
 src/io/packed/layer_reader.hpp src/io/packed/section_loader.hpp \
 tests/support/streamed.hpp src/plan/stream.hpp \
 tests/unit/io/packed/packed_test.cpp tests/unit/io/same_files_test.cpp \
 src/data/generate.hpp src/data/model_families.hpp \
 src/data/pruned_matrix.hpp src/io/arrays/activations.hpp \
 src/io/files/output_form.hpp src/io/models/onnx/proto.hpp \
 build/release/generated/onnx.pb.h src/io/networks/directory/manifest.hpp \
 tests/support/text_hash.hpp tests/unit/model/affine_test.cpp \
 src/model/rewrites/fold_affine.hpp \
 src/model/rewrites/fuse_hard_swish.hpp tests/support/quantised.hpp \
 src/model/graph/quantised.hpp tests/support/rewritten.hpp \
 src/model/oracle/evaluate.hpp src/model/operations/operations.hpp \
 src/model/operations/bounded.hpp tests/unit/model/csr_of_dense_test.cpp \
 src/model/operations/csr_of_dense.hpp \
 tests/unit/model/functions_test.cpp tests/unit/model/long_test.cpp \
 src/model/rewrites/drop_dead_channels.hpp src/model/rewrites/rewrite.hpp \
 include/spdnn/rewrites.hpp src/program/arena.hpp src/program/steps.hpp \
 include/spdnn/model_inference.hpp include/spdnn/model_report.hpp \
 include/spdnn/run_record.hpp include/spdnn/verdict.hpp \
 include/spdnn/run_settings.hpp tests/support/sampled.hpp \
 tests/unit/model/magnitudes_test.cpp src/model/graph/magnitudes.hpp \
 tests/unit/model/operations_test.cpp src/model/graph/model_digest.hpp \
 tests/unit/model/oracle_test.cpp tests/unit/model/padding_test.cpp \
 src/model/rewrites/fold_padding.hpp \
 tests/unit/model/quantised_values_test.cpp \
 src/model/graph/whole_weights.hpp \
 tests/unit/model/random_rewrites_test.cpp \
 src/model/rewrites/share_twin_filters.hpp \
 tests/support/rewrite_models.hpp \
 tests/unit/model/rewrite_guards_test.cpp \
 tests/unit/model/rewrites_test.cpp src/model/graph/remove_unread.hpp \
 src/model/rewrites/fold_constants.hpp tests/unit/model/shapes_test.cpp \
 src/model/graph/node_work.hpp tests/unit/model/weights_test.cpp \
 tests/unit/plan/census_test.cpp src/plan/census.hpp src/plan/planner.hpp \
 src/plan/passes/twins.hpp tests/support/plan_nets.hpp \
 tests/unit/plan/describe_test.cpp src/plan/describe.hpp \
 include/spdnn/planned_network.hpp src/engines/choose.hpp \
 src/engines/overflow.hpp src/plan/image_facts.hpp \
 tests/unit/plan/exactness_test.cpp tests/unit/plan/finder_test.cpp \
 tests/unit/plan/image_facts_test.cpp tests/unit/plan/merge_test.cpp \
 tests/unit/plan/official_test.cpp src/data/official/problems.hpp \
 src/data/official/constants.hpp src/inference/run/run.hpp \
 src/inference/device/engine_choice.hpp src/engines/devices.hpp \
 src/engines/backend.hpp src/inference/run/batch_loop.hpp \
 src/inference/run/batch_source.hpp src/cluster/partition.hpp \
 tests/support/shared_data.hpp tests/unit/plan/passes_test.cpp \
 src/plan/passes/merge.hpp src/plan/passes/saturation.hpp \
 src/plan/passes/unused.hpp tests/unit/plan/stream_test.cpp \
 tests/unit/program/constants_test.cpp src/program/bound_program.hpp \
 src/program/program.hpp src/program/kernel.hpp src/program/layout.hpp \
 src/program/target.hpp tests/unit/program/engines_test.cpp \
 src/engines/cpu/plain/loops.hpp tests/support/kernel_contract.hpp \
 src/engines/kernel_families.hpp src/program/family.hpp \
 src/program/engine.hpp src/program/tune.hpp src/program/calibration.hpp \
 src/program/compile.hpp src/program/choose.hpp \
 tests/support/recorded.hpp tests/unit/program/epilogue_test.cpp \
 src/program/epilogue.hpp src/program/sum_function.hpp \
 src/program/predict.hpp tests/unit/program/kernels_test.cpp \
 src/program/path.hpp tests/unit/toy/kernels.def \
 tests/unit/program/steps_test.cpp src/program/compile_for.hpp \
 src/program/parts.hpp src/prune/quantise_values.hpp \
 tests/unit/program/stored_test.cpp src/program/stored.hpp \
 src/core/text/json.hpp src/engines/tuned_program.hpp \
 src/program/threads.hpp tests/unit/program/target_test.cpp \
 src/core/system/stopwatch.hpp tests/unit/program/tune_test.cpp \
 src/inference/model/compiled_program.hpp src/program/measured.hpp \
 src/program/trial.hpp src/program/request.hpp \
 tests/unit/prune/batch_norms_test.cpp src/prune/batch_norms.hpp \
 tests/unit/prune/channel_order_test.cpp src/prune/channel_order.hpp \
 tests/unit/prune/codebook_test.cpp src/prune/codebook.hpp \
 tests/unit/prune/least_squares_test.cpp src/prune/least_squares.hpp \
 src/prune/samples.hpp src/prune/select.hpp \
 tests/unit/prune/quantise_test.cpp src/prune/quantise.hpp \
 tests/unit/prune/select_test.cpp tests/unit/prune/two_of_four_test.cpp \
 src/prune/two_of_four.hpp tests/unit/report/configurations_test.cpp \
 src/report/configurations.hpp src/report/run_line.hpp \
 include/spdnn/report.hpp tests/unit/report/conv_summary_test.cpp \
 src/report/conv_summary.hpp tests/unit/report/forms_test.cpp \
 src/core/text/csv.hpp src/report/baselines.hpp src/report/document.hpp \
 src/report/json_fields.hpp src/core/text/json_text.hpp \
 src/report/render/text_forms.hpp src/report/significant.hpp \
 tests/unit/report/html_body_test.cpp src/report/render/html/html.hpp \
 tests/support/whole.hpp tests/unit/report/html_test.cpp \
 tests/unit/report/lines_read_test.cpp \
 tests/unit/report/model_document_test.cpp src/report/model/document.hpp \
 tests/support/documents.hpp tests/unit/report/network_document_test.cpp \
 src/report/by_layer.hpp src/report/network/document.hpp \
 src/report/network/histograms.hpp src/report/network/sections.hpp \
 src/report/network/spy.hpp tests/unit/report/prune_document_test.cpp \
 src/report/prune_document.hpp src/report/prune_report.hpp \
 tests/unit/report/report_test.cpp tests/support/printed_json.hpp \
 tests/unit/report/results_document_test.cpp \
 src/report/results_document.hpp src/report/checks.hpp \
 src/report/sections/sections.hpp tests/unit/report/text_cases_test.cpp \
 src/report/answers.hpp tests/unit/report/verdict_test.cpp \
 tests/unit/report/whole_reports_test.cpp \
 tests/unit/report/whole_results_test.cpp tests/unit/toy/columns.cpp \
 tests/unit/toy/linear_text.cpp tests/unit/toy/linear_text.hpp \
 src/core/system/out_of_memory.hpp src/io/models/add_node.hpp \
 tests/unit/toy/relu.cpp src/program/operation_kernel.hpp
tests/unit/io/networks/text_parts_test.cpp:
src/io/networks/text/source.hpp:
src/io/files/input_file.hpp:
src/core/system/descriptor.hpp:
src/io/networks/text/gz.hpp:
include/spdnn/error.hpp:
tests/temporary_directory.hpp:
tests/unit/io/networks/text_pieces_test.cpp:
src/io/networks/text/matrix_market.hpp:
src/io/networks/text/tsv_reader.hpp:
src/io/networks/text/tsv_entries.hpp:
src/io/networks/text/tsv_line.hpp:
include/spdnn/types.hpp:
include/spdnn/categories.hpp:
include/spdnn/csr_matrix.hpp:
include/spdnn/array.hpp:
include/spdnn/images.hpp:
include/spdnn/network.hpp:
src/io/networks/text/sink.hpp:
src/io/files/atomic_file.hpp:
src/io/files/output_target.hpp:
src/io/files/temporaries.hpp:
src/io/networks/text/some_images.hpp:
tests/support/tsv_support.hpp:
tests/support/message_of.hpp:
tests/unit/io/networks/tsv_files_test.cpp:
src/io/networks/directory/layer_names.hpp:
src/core/types/layer_stream.hpp:
include/spdnn/files.hpp:
include/spdnn/model.hpp:
include/spdnn/tensor.hpp:
include/spdnn/weights.hpp:
include/spdnn/values.hpp:
include/spdnn/activations.def:
include/spdnn/operations.def:
include/spdnn/progress.hpp:
src/io/networks/text/tsv_writer.hpp:
tests/support/matrix_builder.hpp:
tests/unit/io/networks/tsv_images_test.cpp:
tests/unit/io/networks/tsv_reader_test.cpp:
src/io/networks/text/csr_builder.hpp:
src/io/networks/text/growing_array.hpp:
src/core/system/host_memory.hpp:
tests/unit/io/packed/entropy_coding_test.cpp:
src/io/packed/entropy_coding.hpp:
tests/support/models.hpp:
tests/support/networks.hpp:
src/core/types/plan.hpp:
include/spdnn/passes.hpp:
tests/unit/io/packed/image_digest_test.cpp:
src/io/packed/digests.hpp:
src/io/packed/read_write.hpp:
tests/unit/io/packed/packed_damage_test.cpp:
src/io/packed/file.hpp:
src/io/packed/format.hpp:
src/io/packed/image_layout.hpp:
tests/packed_seal.hpp:
tests/support/packed_samples.hpp:
tests/unit/io/packed/packed_plans_test.cpp:
src/io/packed/stored_plan.hpp:
tests/support/equal.hpp:
tests/support/engines.hpp:
src/core/types/counted_csr.hpp:
src/core/threads/parallel.hpp:
src/core/threads/parallel_rows.hpp:
src/engines/engine.hpp:
src/engines/support.hpp:
src/core/types/program_step.hpp:
include/spdnn/outcome.hpp:
src/engines/reference/engine.hpp:
src/engines/variant_lines.hpp:
src/engines/model_engine.hpp:
tests/unit/io/packed/packed_streams_test.cpp:
src/io/packed/layers.hpp:
src/io/packed/layer_reader.hpp:
src/io/packed/section_loader.hpp:
tests/support/streamed.hpp:
src/plan/stream.hpp:
tests/unit/io/packed/packed_test.cpp:
tests/unit/io/same_files_test.cpp:
src/data/generate.hpp:
src/data/model_families.hpp:
src/data/pruned_matrix.hpp:
src/io/arrays/activations.hpp:
src/io/files/output_form.hpp:
src/io/models/onnx/proto.hpp:
build/release/generated/onnx.pb.h:
src/io/networks/directory/manifest.hpp:
tests/support/text_hash.hpp:
tests/unit/model/affine_test.cpp:
src/model/rewrites/fold_affine.hpp:
src/model/rewrites/fuse_hard_swish.hpp:
tests/support/quantised.hpp:
src/model/graph/quantised.hpp:
tests/support/rewritten.hpp:
src/model/oracle/evaluate.hpp:
src/model/operations/operations.hpp:
src/model/operations/bounded.hpp:
tests/unit/model/csr_of_dense_test.cpp:
src/model/operations/csr_of_dense.hpp:
tests/unit/model/functions_test.cpp:
tests/unit/model/long_test.cpp:
src/model/rewrites/drop_dead_channels.hpp:
src/model/rewrites/rewrite.hpp:
include/spdnn/rewrites.hpp:
src/program/arena.hpp:
src/program/steps.hpp:
include/spdnn/model_inference.hpp:
include/spdnn/model_report.hpp:
include/spdnn/run_record.hpp:
include/spdnn/verdict.hpp:
include/spdnn/run_settings.hpp:
tests/support/sampled.hpp:
tests/unit/model/magnitudes_test.cpp:
src/model/graph/magnitudes.hpp:
tests/unit/model/operations_test.cpp:
src/model/graph/model_digest.hpp:
tests/unit/model/oracle_test.cpp:
tests/unit/model/padding_test.cpp:
src/model/rewrites/fold_padding.hpp:
tests/unit/model/quantised_values_test.cpp:
src/model/graph/whole_weights.hpp:
tests/unit/model/random_rewrites_test.cpp:
src/model/rewrites/share_twin_filters.hpp:
tests/support/rewrite_models.hpp:
tests/unit/model/rewrite_guards_test.cpp:
tests/unit/model/rewrites_test.cpp:
src/model/graph/remove_unread.hpp:
src/model/rewrites/fold_constants.hpp:
tests/unit/model/shapes_test.cpp:
src/model/graph/node_work.hpp:
tests/unit/model/weights_test.cpp:
tests/unit/plan/census_test.cpp:
src/plan/census.hpp:
src/plan/planner.hpp:
src/plan/passes/twins.hpp:
tests/support/plan_nets.hpp:
tests/unit/plan/describe_test.cpp:
src/plan/describe.hpp:
include/spdnn/planned_network.hpp:
src/engines/choose.hpp:
src/engines/overflow.hpp:
src/plan/image_facts.hpp:
tests/unit/plan/exactness_test.cpp:
tests/unit/plan/finder_test.cpp:
tests/unit/plan/image_facts_test.cpp:
tests/unit/plan/merge_test.cpp:
tests/unit/plan/official_test.cpp:
src/data/official/problems.hpp:
src/data/official/constants.hpp:
src/inference/run/run.hpp:
src/inference/device/engine_choice.hpp:
src/engines/devices.hpp:
src/engines/backend.hpp:
src/inference/run/batch_loop.hpp:
src/inference/run/batch_source.hpp:
src/cluster/partition.hpp:
tests/support/shared_data.hpp:
tests/unit/plan/passes_test.cpp:
src/plan/passes/merge.hpp:
src/plan/passes/saturation.hpp:
src/plan/passes/unused.hpp:
tests/unit/plan/stream_test.cpp:
tests/unit/program/constants_test.cpp:
src/program/bound_program.hpp:
src/program/program.hpp:
src/program/kernel.hpp:
src/program/layout.hpp:
src/program/target.hpp:
tests/unit/program/engines_test.cpp:
src/engines/cpu/plain/loops.hpp:
tests/support/kernel_contract.hpp:
src/engines/kernel_families.hpp:
src/program/family.hpp:
src/program/engine.hpp:
src/program/tune.hpp:
src/program/calibration.hpp:
src/program/compile.hpp:
src/program/choose.hpp:
tests/support/recorded.hpp:
tests/unit/program/epilogue_test.cpp:
src/program/epilogue.hpp:
src/program/sum_function.hpp:
src/program/predict.hpp:
tests/unit/program/kernels_test.cpp:
src/program/path.hpp:
tests/unit/toy/kernels.def:
tests/unit/program/steps_test.cpp:
src/program/compile_for.hpp:
src/program/parts.hpp:
src/prune/quantise_values.hpp:
tests/unit/program/stored_test.cpp:
src/program/stored.hpp:
src/core/text/json.hpp:
src/engines/tuned_program.hpp:
src/program/threads.hpp:
tests/unit/program/target_test.cpp:
src/core/system/stopwatch.hpp:
tests/unit/program/tune_test.cpp:
src/inference/model/compiled_program.hpp:
src/program/measured.hpp:
src/program/trial.hpp:
src/program/request.hpp:
tests/unit/prune/batch_norms_test.cpp:
src/prune/batch_norms.hpp:
tests/unit/prune/channel_order_test.cpp:
src/prune/channel_order.hpp:
tests/unit/prune/codebook_test.cpp:
src/prune/codebook.hpp:
tests/unit/prune/least_squares_test.cpp:
src/prune/least_squares.hpp:
src/prune/samples.hpp:
src/prune/select.hpp:
tests/unit/prune/quantise_test.cpp:
src/prune/quantise.hpp:
tests/unit/prune/select_test.cpp:
tests/unit/prune/two_of_four_test.cpp:
src/prune/two_of_four.hpp:
tests/unit/report/configurations_test.cpp:
src/report/configurations.hpp:
src/report/run_line.hpp:
include/spdnn/report.hpp:
tests/unit/report/conv_summary_test.cpp:
src/report/conv_summary.hpp:
tests/unit/report/forms_test.cpp:
src/core/text/csv.hpp:
src/report/baselines.hpp:
src/report/document.hpp:
src/report/json_fields.hpp:
src/core/text/json_text.hpp:
src/report/render/text_forms.hpp:
src/report/significant.hpp:
tests/unit/report/html_body_test.cpp:
src/report/render/html/html.hpp:
tests/support/whole.hpp:
tests/unit/report/html_test.cpp:
tests/unit/report/lines_read_test.cpp:
tests/unit/report/model_document_test.cpp:
src/report/model/document.hpp:
tests/support/documents.hpp:
tests/unit/report/network_document_test.cpp:
src/report/by_layer.hpp:
src/report/network/document.hpp:
src/report/network/histograms.hpp:
src/report/network/sections.hpp:
src/report/network/spy.hpp:
tests/unit/report/prune_document_test.cpp:
src/report/prune_document.hpp:
src/report/prune_report.hpp:
tests/unit/report/report_test.cpp:
tests/support/printed_json.hpp:
tests/unit/report/results_document_test.cpp:
src/report/results_document.hpp:
src/report/checks.hpp:
src/report/sections/sections.hpp:
tests/unit/report/text_cases_test.cpp:
src/report/answers.hpp:
tests/unit/report/verdict_test.cpp:
tests/unit/report/whole_reports_test.cpp:
tests/unit/report/whole_results_test.cpp:
tests/unit/toy/columns.cpp:
tests/unit/toy/linear_text.cpp:
tests/unit/toy/linear_text.hpp:
src/core/system/out_of_memory.hpp:
src/io/models/add_node.hpp:
tests/unit/toy/relu.cpp:
src/program/operation_kernel.hpp:
