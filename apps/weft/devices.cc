// weft devices: lists the devices of this machine.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <format>
#include <nlohmann/json.hpp>

#include "command_line.h"
#include "commands.h"
#include "core/format.h"
#include "core/parallel.h"
#include "gpu/driver_problems.h"
#include "output.h"
#include "weft/calibration.h"
#include "weft/devices.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/gpu.h"
#include "weft/models.h"

namespace weft::app {
namespace {

using nlohmann::ordered_json;

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return std::format("{:.4g} {}", value, kUnits[unit]);
}

ordered_json to_json(const gpu::AdapterInfo& a) {
  ordered_json matrices = ordered_json::array();
  for (const auto& m : a.matrix_shapes) {
    matrices.push_back({{"operand", name(m.operand)}, {"result", name(m.result)}, {"m", m.m}, {"n", m.n}, {"k", m.k}});
  }
  const wgpu::Limits& l = a.limits;
  return {{"index", a.index},
          {"name", a.name},
          {"backend", a.backend},
          {"type", a.type},
          {"vendor", a.vendor},
          {"architecture", a.architecture},
          {"driver", a.driver},
          {"compatibility", a.compatibility},
          {"software", a.software()},
          {"subgroup_size", {{"min", a.subgroup_min}, {"max", a.subgroup_max}}},
          {"features", a.features},
          {"cooperative_matrices", matrices},
          {"limits",
           {{"max_storage_buffer_binding_size", l.maxStorageBufferBindingSize},
            {"max_buffer_size", l.maxBufferSize},
            {"max_storage_buffers_per_shader_stage", l.maxStorageBuffersPerShaderStage},
            {"max_compute_workgroup_storage_size", l.maxComputeWorkgroupStorageSize},
            {"max_compute_invocations_per_workgroup", l.maxComputeInvocationsPerWorkgroup},
            {"max_compute_workgroups_per_dimension", l.maxComputeWorkgroupsPerDimension},
            {"max_immediate_size", l.maxImmediateSize},
            {"min_storage_buffer_offset_alignment", l.minStorageBufferOffsetAlignment}}}};
}

// "discrete · 140.4 GiB · vulkan", as much as is known.
std::string traits(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : " · ") + part;
  }
  return text;
}

// The line of a device. Names are padded to `width` bytes.
std::string line(const DeviceDescription& d, const gpu::AdapterInfo* adapter, std::size_t width) {
  const std::string memory = d.memory ? bytes_text(*d.memory) : "";
  if (!adapter) {
    const int cores = core_count();
    const std::string name = std::format("the processor, {} core{}", cores, cores == 1 ? "" : "s");
    return std::format("{:<4} {:<{}}  {}\n", d.open_as, name, width, memory);
  }
  return std::format("{:<4} {:<{}}  {}\n", d.open_as, d.name, width,
                     traits({d.backend, d.type, memory, adapter->compatibility ? "compatibility level" : ""}));
}

std::string row(std::string_view name, std::string_view value) { return std::format("     {:<12} {}\n", name, value); }

// The rest of what is known of an adapter.
std::string details(const gpu::AdapterInfo& a) {
  const wgpu::Limits& l = a.limits;
  std::string text;
  if (!a.driver.empty()) text += row("driver", a.driver);
  text +=
      row("bindings", std::format("{} each, {} a dispatch; buffers up to {}", bytes_text(l.maxStorageBufferBindingSize),
                                  l.maxStorageBuffersPerShaderStage, bytes_text(l.maxBufferSize)));
  text += row("workgroups", std::format("{} invocations, {} of memory", l.maxComputeInvocationsPerWorkgroup,
                                        bytes_text(l.maxComputeWorkgroupStorageSize)));
  if (a.subgroup_max) {
    text +=
        row("subgroups", a.subgroup_min == a.subgroup_max ? std::to_string(a.subgroup_min)
                                                          : std::format("{} to {}", a.subgroup_min, a.subgroup_max));
  }
  std::string shapes;
  for (const auto& m : a.matrix_shapes) {
    shapes +=
        std::format("{}{}→{} {}×{}×{}", shapes.empty() ? "" : ", ", name(m.operand), name(m.result), m.m, m.n, m.k);
  }
  if (!shapes.empty()) text += row("matrices", shapes);
  std::string_view title = "features";
  std::string features;
  for (const auto& f : a.features) {
    if (features.size() + f.size() > 85) {
      text += row(title, features);
      title = "";
      features.clear();
    }
    features += (features.empty() ? "" : " ") + f;
  }
  return text + row(title, features);
}

std::string rates(const Calibration& c) {
  std::string text;
  const auto rate = [&](const char* name, double value, double unit, const char* unit_text) {
    if (value > 0) text += std::format("     {:<22} {:>10.4g} {}\n", name, value / unit, unit_text);
  };
  rate("copying", c.copy_bandwidth, 1e9, "GB/s, read and written");
  rate("copying in the caches", c.cache_bandwidth, 1e9,
       std::format("GB/s, up to {:.3g} MiB read and written", c.cache_bytes / (1 << 20)).c_str());
  rate("products, f32", c.f32_rate, 1e9, "GFLOP/s");
  rate("products, f16", c.f16_rate, 1e9, "GFLOP/s");
  rate("cooperative matrices", c.matrix_rate, 1e9, "GFLOP/s");
  rate("functions", c.function_rate, 1e9, "G exponentials/s");
  rate("a dispatch", c.dispatch_seconds, 1e-6, "µs");
  rate("waiting for the last", c.barrier_seconds, 1e-6, "µs more");
  rate("encoding a dispatch", c.encode_seconds, 1e-6, "µs of the host");
  rate("there and back", c.round_trip_seconds, 1e-6, "µs");
  rate("uploading", c.upload_rate, 1e9, "GB/s");
  rate("downloading", c.download_rate, 1e9, "GB/s");
  return text + std::format("     {:<22} {:>10.2f} s\n     {:<22} {:>10.0f} % of the processors\n", "measured in",
                            c.measured_seconds, "others used meanwhile", 100 * c.busy);
}

// Selects the devices that `name` matches; all if it is empty.
struct Chosen {
  std::string name;
  bool all() const { return name.empty(); }
  bool cpu() const { return all() || name == "cpu"; }
};

// The device of "weft --device NAME devices", which is a setting there.
std::string device_setting() {
  return flag_source(Flag::device).starts_with('-') ? flag_text(Flag::device) : std::string();
}

struct DevicesArguments {
  bool json = false, verbose = false, calibrate = false, again = false;
  Chosen device;
  std::string model;  // if set, devices are ranked for it
  int batch = 1, length = 32;
};

std::vector<gpu::AdapterInfo> adapters_of(const DevicesArguments& a) {
  auto adapters = a.device.name == "cpu" ? std::vector<gpu::AdapterInfo>() : gpu::adapters();
  if (!a.device.all() && a.device.name != "cpu") {
    const int wanted = gpu::Device::open({.adapter = a.device.name}).adapter().index;
    std::erase_if(adapters, [&](const gpu::AdapterInfo& info) { return info.index != wanted; });
  }
  if (const std::string backend = flag_text(Flag::backend); !backend.empty() && a.device.name != "cpu") {
    std::erase_if(adapters, [&](const gpu::AdapterInfo& info) { return info.backend != backend; });
    if (adapters.empty()) throw NoDevice("no GPU adapter with the backend '{}'; 'weft devices' lists all", backend);
  }
  return adapters;
}

Device open(const gpu::AdapterInfo& info) { return gpu::Device::open({.adapter = std::to_string(info.index)}); }

// With two digits, more than which an estimate does not have: "12 ms", "0.83 ms", "1.4 s".
std::string rounded(double seconds) {
  const double value = seconds < 0.995 ? seconds * 1e3 : seconds;
  const int digits = value > 0 ? static_cast<int>(std::floor(std::log10(value))) : 0;  // before the point, less one
  const double step = std::pow(10, digits - 1);
  return std::format("{:.{}f} {}", std::round(value / step) * step, std::clamp(1 - digits, 0, 6),
                     seconds < 0.995 ? "ms" : "s");
}

// Ranks the devices by their estimated time for a model's graph.
void rank(const DevicesArguments& a) {
  const auto encoder = models::SentenceEncoder::load(a.model, Device::cpu(), {.tokenizer = false});
  std::vector<Device> devices;
  for (const auto& info : adapters_of(a)) devices.push_back(open(info));
  if (a.device.cpu()) devices.push_back(Device::cpu());
  const std::vector<RankedDevice> ranked = rank_devices(encoder.graph(a.batch, a.length), devices);
  const auto backend = [](const Device& d) { return d.is_gpu() ? d.gpu().adapter().backend : std::string("cpu"); };
  Output out("-");
  if (a.json) {
    ordered_json list = ordered_json::array();
    for (const RankedDevice& r : ranked) {
      const EstimateRange within = estimate_range(r.estimate, r.calibration);
      list.push_back({{"device", r.device.name()},
                      {"backend", backend(r.device)},
                      {"seconds", r.estimate.seconds()},
                      {"kernel_seconds", r.estimate.kernels},
                      {"transfer_seconds", r.estimate.transfers},
                      {"low_seconds", within.low},
                      {"high_seconds", within.high},
                      {"others_used", r.calibration.busy}});
    }
    out.write(ordered_json{{"batch", a.batch}, {"length", a.length}, {"ranking", list}}.dump(2) + "\n");
    return out.commit();
  }
  out.write(std::format("{} × {} tokens, estimated from what each device was measured to do:\n", a.batch, a.length));
  double busiest = 0;
  for (const RankedDevice& r : ranked) {
    const EstimateRange within = estimate_range(r.estimate, r.calibration);
    out.write(std::format("  {:>8}, {:>8} to {:>8}  {} ({})\n", rounded(r.estimate.seconds()), rounded(within.low),
                          rounded(within.high), r.device.name(), backend(r.device)));
    busiest = std::max(busiest, r.calibration.busy);
  }
  out.write(std::format("While they were measured, other programs used {}{:.0f} % of the processors{}\n",
                        ranked.size() > 1 ? "up to " : "", 100 * busiest,
                        busiest < 0.1 ? "." : "; weft devices --calibrate --again measures anew."));
  out.commit();
}

void list(const DevicesArguments& a) {
  const auto adapters = adapters_of(a);
  const auto calibration = [&](const Device& device) {
    if (const auto path = Calibration::file_of(device); a.again && !path.empty()) std::filesystem::remove(path);
    return Calibration::load_or_measure(device);
  };
  Output out("-");
  if (a.json) {
    ordered_json list = ordered_json::array();
    for (const auto& info : adapters) {
      list.push_back(to_json(info));
      if (a.calibrate) list.back()["calibration"] = ordered_json::parse(to_json(calibration(open(info))));
    }
    ordered_json cpu{{"cores", core_count()}};
    if (a.calibrate && a.device.cpu()) cpu["calibration"] = ordered_json::parse(to_json(calibration(Device::cpu())));
    out.write(ordered_json{{"adapters", list}, {"cpu", cpu}}.dump(2) + "\n");
    return out.commit();
  }
  const std::vector<DeviceDescription> known = available_devices();
  std::size_t width = 0;
  for (const DeviceDescription& d : known) width = std::max(width, d.name.size());
  for (const DeviceDescription& d : known) {
    const auto info = std::ranges::find(adapters, d.open_as, [](const auto& i) { return std::to_string(i.index); });
    const bool cpu = d.open_as == "cpu";
    if (cpu ? !a.device.cpu() : info == adapters.end()) continue;
    out.write(line(d, cpu ? nullptr : &*info, width));
    if (a.verbose && !cpu) out.write(details(*info));
    if (a.calibrate) out.write(rates(calibration(cpu ? Device::cpu() : open(*info))));
    if (a.verbose || a.calibrate) out.write(cpu ? "" : "\n");
    out.flush();
  }
  if (adapters.empty() && a.device.all()) {
    out.write("No GPU: no Vulkan, Metal, Direct3D 12 or OpenGL driver answers.\n");
  }
  // A software GPU may hide that the real one cannot be used.
  if (a.device.all() && std::ranges::all_of(adapters, [](const auto& i) { return i.software(); })) {
    for (const std::string& problem : gpu::driver_problems()) out.write(std::format("  {}.\n", problem));
  }
  out.commit();
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List what can compute here: GPUs, software GPUs, the CPU");
  auto a = std::make_shared<DevicesArguments>();
  command->add_flag("--json", a->json, "Write JSON instead of text");
  command->add_flag("-v,--verbose", a->verbose, "All that is known of each: driver, limits, matrices, features");
  command->add_flag("--calibrate", a->calibrate,
                    "Measure what each can do, in about a second each; kept, so that it is measured once");
  command->add_flag("--again", a->again, "With --calibrate: measure what is kept anew, such as after a busy moment");
  command->add_option("--device", a->device.name, "Only this one: cpu, or a GPU's number, backend or part of its name");
  CLI::Option* rank_for =
      command
          ->add_option("--rank", a->model,
                       "Rank them by the time estimated for this model's graph; measures what is not calibrated yet")
          ->check(check_path);
  command->add_option("--batch", a->batch, "With --rank: sentences")
      ->check(whole_number(1, 65536))
      ->needs(rank_for)
      ->capture_default_str();
  command->add_option("--length", a->length, "With --rank: tokens a sentence")
      ->check(whole_number(1, 65536))
      ->needs(rank_for)
      ->capture_default_str();
  command->footer(
      "A device is chosen elsewhere by its number, its backend or a part of its name:\n"
      "  weft embed --device 0 …      weft embed --device vulkan …      weft embed --device llvmpipe …\n"
      "  WEFT_DEVICE=nvidia weft embed …\n\n"
      "Which one for a model: weft devices --rank MODEL --batch 32 --length 128\n");
  command->callback([a] {
    if (a->again && !a->calibrate) throw CLI::ValidationError("--again goes with --calibrate");
    if (a->device.all()) a->device.name = device_setting();
    try {
      a->model.empty() ? list(*a) : rank(*a);
    } catch (const DeviceError& e) {  // --device is a name that no device has
      throw CLI::ValidationError(std::string(e.what()));
    }
  });
}

}  // namespace weft::app
