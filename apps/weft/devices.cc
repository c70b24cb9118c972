// weft devices: lists the devices of this machine.

#include <oneapi/tbb/info.h>

#include <cstdio>
#include <filesystem>
#include <format>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "output.h"
#include "weft/calibration.h"
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

void print(const gpu::AdapterInfo& a) {
  const wgpu::Limits& l = a.limits;
  std::printf("%d  %s\n", a.index, a.name.c_str());
  std::printf("   %s · %s%s\n", a.backend.c_str(), a.software() ? "software" : a.type.c_str(),
              a.compatibility ? " · compatibility level" : "");
  if (!a.driver.empty()) std::printf("   driver       %s\n", a.driver.c_str());
  std::printf("   bindings     %s each, %u a dispatch; buffers up to %s\n",
              bytes_text(l.maxStorageBufferBindingSize).c_str(), l.maxStorageBuffersPerShaderStage,
              bytes_text(l.maxBufferSize).c_str());
  std::printf("   workgroups   %u invocations, %s of memory\n", l.maxComputeInvocationsPerWorkgroup,
              bytes_text(l.maxComputeWorkgroupStorageSize).c_str());
  if (a.subgroup_max) {
    std::printf("   subgroups    %s\n", a.subgroup_min == a.subgroup_max
                                            ? std::to_string(a.subgroup_min).c_str()
                                            : std::format("{} to {}", a.subgroup_min, a.subgroup_max).c_str());
  }
  if (!a.matrix_shapes.empty()) {
    std::string shapes;
    for (const auto& m : a.matrix_shapes) {
      shapes +=
          std::format("{}{}→{} {}×{}×{}", shapes.empty() ? "" : ", ", name(m.operand), name(m.result), m.m, m.n, m.k);
    }
    std::printf("   matrices     %s\n", shapes.c_str());
  }
  std::string line = "   features    ";
  for (const auto& f : a.features) {
    if (line.size() + f.size() > 100) {
      std::printf("%s\n", line.c_str());
      line = "               ";
    }
    line += " " + f;
  }
  std::printf("%s\n\n", line.c_str());
}

void print(const Calibration& c) {
  const auto row = [](const char* name, double value, double unit, const char* text) {
    if (value > 0) std::printf("   %-22s %10.4g %s\n", name, value / unit, text);
  };
  row("copying", c.copy_bandwidth, 1e9, "GB/s, read and written");
  row("products, f32", c.f32_rate, 1e9, "GFLOP/s");
  row("products, f16", c.f16_rate, 1e9, "GFLOP/s");
  row("cooperative matrices", c.matrix_rate, 1e9, "GFLOP/s");
  row("functions", c.function_rate, 1e9, "G exponentials/s");
  row("a dispatch", c.dispatch_seconds, 1e-6, "µs");
  row("waiting for the last", c.barrier_seconds, 1e-6, "µs more");
  row("encoding a dispatch", c.encode_seconds, 1e-6, "µs of the host");
  row("there and back", c.round_trip_seconds, 1e-6, "µs");
  row("uploading", c.upload_rate, 1e9, "GB/s");
  row("downloading", c.download_rate, 1e9, "GB/s");
  std::printf("   %-22s %10.2f s\n\n", "measured in", c.measured_seconds);
}

// Selects the devices that `name` matches; all if it is empty.
struct Chosen {
  std::string name;
  bool all() const { return name.empty(); }
  bool cpu() const { return all() || name == "cpu"; }
};

struct DevicesArguments {
  bool json = false, calibrate = false, again = false;
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

// Ranks the devices by their estimated time for a model's graph.
void rank(const DevicesArguments& a) {
  const auto encoder = models::SentenceEncoder::load(a.model, Device::cpu());
  std::vector<Device> devices;
  for (const auto& info : adapters_of(a)) devices.push_back(open(info));
  if (a.device.cpu()) devices.push_back(Device::cpu());
  const std::vector<RankedDevice> ranked = rank_devices(encoder.graph(a.batch, a.length), devices);
  const auto backend = [](const Device& d) { return d.is_gpu() ? d.gpu().adapter().backend : std::string("cpu"); };
  Output out("-");
  if (a.json) {
    ordered_json list = ordered_json::array();
    for (const RankedDevice& r : ranked) {
      list.push_back({{"device", r.device.name()},
                      {"backend", backend(r.device)},
                      {"seconds", r.estimate.seconds()},
                      {"kernel_seconds", r.estimate.kernels},
                      {"transfer_seconds", r.estimate.transfers}});
    }
    out.write(ordered_json{{"batch", a.batch}, {"length", a.length}, {"ranking", list}}.dump(2) + "\n");
  } else {
    out.write(std::format("{} × {} tokens, estimated from what each device was measured to do:\n", a.batch, a.length));
    for (const RankedDevice& r : ranked) {
      out.write(std::format("  {:10.3f} ms  {} ({}): kernels {:.3f}, transfers {:.3f}\n", r.estimate.seconds() * 1e3,
                            r.device.name(), backend(r.device), r.estimate.kernels * 1e3, r.estimate.transfers * 1e3));
    }
  }
  out.commit();
}

void list(const DevicesArguments& a) {
  const auto adapters = adapters_of(a);
  const int cores = tbb::info::default_concurrency();
  const auto calibration = [&](const Device& device) {
    if (const auto path = Calibration::file_of(device); a.again && !path.empty()) std::filesystem::remove(path);
    return Calibration::load_or_measure(device);
  };
  if (a.json) {
    ordered_json list = ordered_json::array();
    for (const auto& info : adapters) {
      list.push_back(to_json(info));
      if (a.calibrate) list.back()["calibration"] = ordered_json::parse(to_json(calibration(open(info))));
    }
    ordered_json cpu{{"cores", cores}};
    if (a.calibrate && a.device.cpu()) cpu["calibration"] = ordered_json::parse(to_json(calibration(Device::cpu())));
    Output out("-");
    out.write(ordered_json{{"adapters", list}, {"cpu", cpu}}.dump(2) + "\n");
    out.commit();
    return;
  }
  for (const auto& info : adapters) {
    print(info);
    if (a.calibrate) print(calibration(open(info)));
  }
  if (adapters.empty() && a.device.all()) {
    std::printf("No GPU adapter: no Vulkan, Metal, Direct3D 12 or OpenGL driver answers.\n\n");
  }
  if (!a.device.cpu()) return;
  std::printf("cpu  the processor, %d core%s\n", cores, cores == 1 ? "" : "s");
  if (a.calibrate) print(calibration(Device::cpu()));
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List what can compute here: GPUs, software GPUs, the CPU");
  auto a = std::make_shared<DevicesArguments>();
  command->add_flag("--json", a->json, "Write JSON instead of text");
  command->add_flag("--calibrate", a->calibrate,
                    "Measure what each can do, in about a second each; kept, so that it is measured once");
  command->add_flag("--again", a->again, "With --calibrate: measure what is kept anew, such as after a busy moment");
  command->add_option("--device", a->device.name,
                      "Only this one: cpu, or an adapter's number, backend or part of its name");
  CLI::Option* rank_for = command->add_option(
      "--rank", a->model,
      "Rank them by the time estimated for this model's graph; measures what is not calibrated yet");
  command->add_option("--batch", a->batch, "With --rank: sentences")
      ->check(CLI::Range(1, 65536))
      ->needs(rank_for)
      ->capture_default_str();
  command->add_option("--length", a->length, "With --rank: tokens a sentence")
      ->check(CLI::Range(1, 65536))
      ->needs(rank_for)
      ->capture_default_str();
  command->footer("A device is chosen elsewhere by its number, its backend or a part of its name:\n"
                  "  weft embed --device 0 …      weft embed --device vulkan …      weft embed --device llvmpipe …\n"
                  "  WEFT_ADAPTER=nvidia weft embed …\n\n"
                  "Which one for a model: weft devices --rank MODEL --batch 32 --length 128\n");
  command->callback([a] {
    if (a->again && !a->calibrate) throw CLI::ValidationError("--again goes with --calibrate");
    if (a->model.empty()) list(*a);
    else rank(*a);
  });
}

}  // namespace weft::app
