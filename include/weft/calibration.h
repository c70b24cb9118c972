// What a device can do, measured: the limits that profiles compare with, and what estimates are made from.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/compile.h"
#include "weft/device.h"
#include "weft/work.h"

namespace weft {

// SI units: bytes, FLOP and seconds. Rates of kernels are of the kernels alone: what a submit and reading back take is
// measured apart. 0: the device does not have it.
struct Calibration {
  std::string device, driver;
  double copy_bandwidth = 0;     // bytes read and written a second, by a copy of a large tensor
  double f32_rate = 0;           // FLOP/s of a large matrix product in f32,
  double f16_rate = 0;           //   of f16 operands without cooperative matrices,
  double matrix_rate = 0;        //   and with them
  double function_rate = 0;      // exponentials a second, of f32 elements that are there already
  double overlap = 0;            // 1: functions are computed while bytes are on their way, as GPUs do; 0: after that
  double dispatch_seconds = 0;   // of a kernel with next to nothing to do, in a row of independent ones
  double barrier_seconds = 0;    // what a kernel waits longer if it needs the one before it
  double encode_seconds = 0;     // the host's time for a dispatch
  double round_trip_seconds = 0; // a small kernel submitted alone, until its result is on the host
  double upload_rate = 0, download_rate = 0;  // bytes/s
  double measured_seconds = 0;   // what measuring took

  double rate(Arithmetic arithmetic) const;
  // The least time of a kernel call: its bytes, its operations or its functions, whichever take longest.
  double limit_seconds(const Work& work) const;
  // The time of a kernel call in a row of dependent ones.
  double estimate_seconds(const Work& work) const;

  // Measures, within two seconds. Throws DeviceLost, OutOfMemory.
  static Calibration measure(const Device& device);
  // What was measured before on this adapter, driver and version of Weft, from the cache directory (Flag::cache_dir);
  // else measures and keeps it. A file that is corrupt, of another device or out of reach counts as absent.
  static Calibration load_or_measure(const Device& device);
  static std::optional<Calibration> load(const Device& device);
  // Where it is kept; empty without a cache directory.
  static std::filesystem::path file_of(const Device& device);
};

std::string to_json(const Calibration& calibration);

// How long a graph runs once: its inputs from the host, the kernels, its outputs back on the host.
struct Estimate {
  double kernels = 0, transfers = 0;  // seconds; transfers with the round trip
  double seconds() const { return kernels + transfers; }
};
// After the passes for that device. Compiles no kernel. Throws InvalidArgument and Unsupported as compile() does.
Estimate estimate(const Graph& graph, const Device& device, const Calibration& calibration,
                  const CompileOptions& options = {});

// Which devices to take for a graph, the fastest first; a tiny graph is often best on the cpu. Those that cannot run it
// are left out; Unsupported where none can. Throws as estimate() and load_or_measure() do.
struct RankedDevice {
  Device device;
  Estimate estimate;
};
std::vector<RankedDevice> rank_devices(const Graph& graph, std::span<const Device> devices);

}  // namespace weft
