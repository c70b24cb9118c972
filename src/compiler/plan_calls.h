// Kernel calls of a schedule, planned for a device: each once, by its operands' layouts.
//
//   matmul a, b → y            matmul a, b → y, scratch of 1 MiB; plan: tile_64x64, split over k
#pragma once

#include "compiler/schedule.h"
#include "weft/device.h"

namespace weft::compiler {

// Gives each call its plan (on a GPU), and its scratch as one more intermediate. Throws Unsupported that names all calls
// which the device cannot run, and why.
void plan_calls(Schedule& schedule, const Device& device, kernels::PlanFor purpose);

// A plan of the call on such views, inputs first.
kernels::Plan plan_call(const ScheduledCall& call, const Device& device, std::span<const View> views,
                        kernels::PlanFor purpose);

}  // namespace weft::compiler
