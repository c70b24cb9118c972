#include "compiler/calibration_file.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/parallel.h"
#include "core/system.h"
#include "gpu/disk_cache.h"
#include "weft/calibration.h"
#include "weft/flags.h"
#include "weft/log.h"
#include "weft/version.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Field {
  const char* name;
  double Calibration::* value;
};
constexpr Field kFields[] = {
    {"copy_bandwidth", &Calibration::copy_bandwidth},
    {"cache_bandwidth", &Calibration::cache_bandwidth},
    {"cache_bytes", &Calibration::cache_bytes},
    {"f32_rate", &Calibration::f32_rate},
    {"f16_rate", &Calibration::f16_rate},
    {"matrix_rate", &Calibration::matrix_rate},
    {"function_rate", &Calibration::function_rate},
    {"overlap", &Calibration::overlap},
    {"dispatch_seconds", &Calibration::dispatch_seconds},
    {"barrier_seconds", &Calibration::barrier_seconds},
    {"encode_seconds", &Calibration::encode_seconds},
    {"round_trip_seconds", &Calibration::round_trip_seconds},
    {"upload_rate", &Calibration::upload_rate},
    {"download_rate", &Calibration::download_rate},
    {"measured_seconds", &Calibration::measured_seconds},
    {"busy", &Calibration::busy},
};

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "cpu";
}

// Returns nothing if anything is wrong with the text.
std::optional<Calibration> parse(const std::string& text, const std::string& device, const std::string& driver) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("weft", nlohmann::json()) != WEFT_VERSION ||
      json.value("device", nlohmann::json()) != device || json.value("driver", nlohmann::json()) != driver) {
    return std::nullopt;
  }
  Calibration c;
  c.device = device;
  c.driver = driver;
  for (const Field& f : kFields) {
    const auto it = json.find(f.name);
    if (it == json.end() || !it->is_number()) return std::nullopt;
    c.*f.value = it->get<double>();
    if (!std::isfinite(c.*f.value) || c.*f.value < 0) return std::nullopt;
  }
  if (c.copy_bandwidth == 0 || c.f32_rate == 0 || c.function_rate == 0) return std::nullopt;
  return c;
}

void store(const fs::path& path, const Calibration& c) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path temporary = path.string() + std::format(".{}", process_id());
  {
    std::ofstream out(temporary);
    out << to_json(c);
    out.close();
    if (!out) {
      log(LogLevel::debug, "the calibration cannot be kept in {}", path.string());
      fs::remove(temporary, error);
      return;
    }
  }
  fs::rename(temporary, path, error);
  if (error) fs::remove(temporary, error);
}

}  // namespace

std::pair<std::string, std::string> compiler::identity_of(const Device& device) {
  if (!device.is_gpu()) return {cpu_model(), std::format("{} cores", core_count())};
  const gpu::AdapterInfo& a = device.gpu().adapter();
  const gpu::Capabilities& c = device.gpu().capabilities();
  // Features that are switched off, and limits, make it another device.
  return {a.name,
          std::format("{} {}{}{}{}{}, bindings of {} bytes, dispatches of {:.3g}", a.backend, a.driver,
                      c.f16 ? " f16" : "", c.subgroups ? " subgroups" : "", c.matrix_shapes.empty() ? "" : " matrices",
                      flag_on(Flag::validation) ? "" : ", not validated", c.max_binding, c.max_dispatch_work)};
}

std::string to_json(const Calibration& c) {
  nlohmann::ordered_json json{{"weft", WEFT_VERSION}, {"device", c.device}, {"driver", c.driver}};
  for (const Field& f : kFields) json[f.name] = c.*f.value;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

fs::path Calibration::file_of(const Device& device) {
  const fs::path pipelines = gpu::DiskCache::root_of(flag_text(Flag::cache_dir));
  if (pipelines.empty()) return {};
  const auto [name, driver] = compiler::identity_of(device);
  return pipelines.parent_path() / "calibration" /
         std::format("{:016x}.json", std::hash<std::string>()(name + "|" + driver + "|" WEFT_VERSION));
}

std::optional<Calibration> Calibration::load(const Device& device) {
  const fs::path path = file_of(device);
  if (path.empty()) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto [name, driver] = compiler::identity_of(device);
  return parse(text, name, driver);
}

Calibration Calibration::load_or_measure(const Device& device) {
  if (auto known = load(device)) return *known;
  const Calibration c = measure(device);
  if (const fs::path path = file_of(device); !path.empty()) store(path, c);
  return c;
}

}  // namespace weft
