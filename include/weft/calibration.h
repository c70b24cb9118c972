// Measured rates of a device: the limits that profiles compare with, and the basis of estimates.
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

// SI units: bytes, FLOP and seconds. Rates of kernels are of the kernels alone: submitting and reading back are
// measured separately. 0: the device does not have it.
struct Calibration {
  std::string device, driver;
  double copy_bandwidth = 0;      // bytes read and written a second, by a copy of a large tensor
  double cache_bandwidth = 0;     // the same by the fastest of the copies that stay in the caches,
  double cache_bytes = 0;         //   and the most bytes, read and written, of those that gain; both may be 0
  double f32_rate = 0;            // FLOP/s of a large matrix product in f32,
  double f16_rate = 0;            //   of f16 operands without cooperative matrices,
  double matrix_rate = 0;         //   and with them
  double function_rate = 0;       // exponentials a second, of f32 elements, without memory traffic
  double overlap = 0;             // 1: functions overlap with memory traffic, as on GPUs; 0: they do not
  double dispatch_seconds = 0;    // of a nearly empty kernel, in a sequence of independent ones
  double barrier_seconds = 0;     // added where a kernel depends on the one before it
  double encode_seconds = 0;      // the host's time for a dispatch
  double round_trip_seconds = 0;  // from submitting one small kernel until its result is on the host
  double upload_rate = 0, download_rate = 0;  // bytes/s
  double measured_seconds = 0;                // duration of the measurement
  double busy = 0;  // part of the host's processors that other programs used meanwhile: 0 to 1

  // Operations a second of that kind of arithmetic, or of f32 where that kind was not measured.
  double rate(Arithmetic arithmetic) const;
  // Bytes a second of a kernel call that moves that many: at most cache_bandwidth if they fit in the caches, where the
  // call before may have left them, else copy_bandwidth.
  double bandwidth(double bytes) const;
  // The least time of a kernel call: of its bytes, its operations or its functions, whichever takes longest.
  double limit_seconds(const Work& work) const;
  // The time of a kernel call in a sequence of dependent ones.
  double estimate_seconds(const Work& work) const;

  // Measures, within two seconds. Throws DeviceLost, OutOfMemory.
  static Calibration measure(const Device& device);
  // What was measured before on this adapter, driver and version of Weft, from the cache directory (Flag::cache_dir);
  // else measures and stores it. A file that is corrupt, of another device or not readable counts as absent.
  static Calibration load_or_measure(const Device& device);
  // What load_or_measure() finds in the cache directory; nothing if it would measure.
  static std::optional<Calibration> load(const Device& device);
  // The file it is stored in; empty without a cache directory.
  static std::filesystem::path file_of(const Device& device);
};

// The figures as the JSON object that the file holds.
std::string to_json(const Calibration& calibration);

// The time of one run of a graph: its inputs from the host, the kernels, its outputs back to the host.
struct Estimate {
  double kernels = 0, transfers = 0;  // seconds; transfers with the round trip
  double seconds() const { return kernels + transfers; }
};
// Where the time of an idle machine lies, in seconds.
struct EstimateRange {
  double low = 0, high = 0;
};
// Of the graph after the passes for that device; a while_loop() is counted as one turn, of a cond() both branches.
// Compiles no kernel. Throws InvalidArgument and Unsupported as compile() does.
Estimate estimate(const Graph& graph, const Device& device, const Calibration& calibration,
                  const CompileOptions& options = {});

// The estimate with its error: kernels reach other parts of the rates than the ones that were measured, and while other
// programs were busy, rates were measured too low.
EstimateRange estimate_range(const Estimate& estimate, const Calibration& calibration);

// Devices for a graph, the fastest first; for a tiny graph that is often the cpu. Devices that cannot run it are left
// out; throws Unsupported if none can, and what estimate() and load_or_measure() throw.
struct RankedDevice {
  Device device;
  Estimate estimate;
  Calibration calibration;
};
// The devices with their estimates for the graph, the fastest first, without those that cannot run it; devices that
// were not calibrated yet are. Throws Unsupported if none can run it.
std::vector<RankedDevice> rank_devices(const Graph& graph, std::span<const Device> devices);

}  // namespace weft
