// Output of `rewise label`: the table of components, and files of labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/commands/label_input.hpp"
#include "src/label/labeller.hpp"
#include "src/results/json_output.hpp"
#include "src/store/sealed_file.hpp"

namespace rewise {

struct LabelResult {
  LabelMethod method = LabelMethod::fast;
  std::uint32_t tile = 0;   // 0: none
  std::string device;       // "cpu", "cuda:0"
  std::vector<Site> label;  // [sites]
  std::vector<Component> components;
  double seconds = 0;  // of the labelling alone, the shortest of the repetitions
};

LabelResult label_input(const LabelInput& input, const LabelOptions& options);

Json label_json(const LabelInput& input, const LabelResult& result);
std::string label_text(const LabelInput& input, const LabelResult& result);

// .h5: datasets /label of the input's shape, 4294967295 where there is no site, and
// /component_label, /component_size. .pgm (two dimensions): the grey value is the rank of the
// component by size. 1 is the largest component, 65535 stands for this rank and all later ones, and
// 0 means no site.
void write_labels(const LabelInput& input, const LabelResult& result, const std::string& file,
                  Overwrite overwrite);
// Throws Error(usage) for a file that write_labels() could not write.
void check_label_output(const LabelInput& input, const std::string& file);

}  // namespace rewise
