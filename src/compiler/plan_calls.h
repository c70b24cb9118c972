// Plans the kernel calls of a schedule for a device: each once, by its operands' layouts.
//
//   matmul a, b → y            matmul a, b → y, scratch of 1 MiB; plan: tile_64x64, split over k
#pragma once

#include "compiler/schedule.h"
#include "weft/device.h"

namespace weft::compiler {

// Gives each call its plan (on a GPU), and its scratch as one more intermediate. Throws one Unsupported that lists all
// calls that the device cannot run, each with its op, label and types, and the reason:
//   cpu cannot run 1 of 2 kernels:
//     custom "scale_rows [4, 3]" of f32 [4, 3], f32 [4] → f32 [4, 3]: custom kernel "scale_rows" has no CPU function
void plan_calls(Schedule& schedule, const Device& device, kernels::PlanFor purpose);

// A plan of the call for such views, inputs first.
kernels::Plan plan_call(const ScheduledCall& call, const Device& device, std::span<const View> views,
                        kernels::PlanFor purpose);

}  // namespace weft::compiler
