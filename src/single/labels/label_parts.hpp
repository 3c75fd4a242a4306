// Label equivalence of systems that several devices share, in the two stages of Komura & Okabe
// 2013, section 3: Kalentev's two kernels within every device's part, then scanning and analysis of
// the sites at its borders alone, then every site takes the end of its chain of labels. Their word
// label_total_lattice, a device's number and a label there, is the site's number in the whole
// lattice here. Each step is queued for field.part of all systems.
#pragma once

#include <cuda_runtime_api.h>

#include "src/single/labels/label_kernels.hpp"

namespace rewise::single {

// Every site its own label; field.size is 0.
void launch_part_start(const LabelField& field, cudaStream_t stream);
// First stage, a pass: scanning and analysis by the bonds within the part.
void launch_part_equivalence(const LabelField& field, const PassFlags& flags, cudaStream_t stream);
// Second stage, the two steps of a pass, each after that before it of all devices: the bonds that
// leave the part, and all shortcuts; the sites that have, or may have, such a bond.
void launch_border_scan(const LabelField& field, const PassFlags& flags, cudaStream_t stream);
void launch_border_analysis(const LabelField& field, const PassFlags& flags, cudaStream_t stream);
// Labels of all sites of the part.
void launch_part_end(const LabelField& field, cudaStream_t stream);

}  // namespace rewise::single
