#include "gpu/driver_problems.h"

#ifdef __linux__

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/format.h"
#include "core/system.h"

namespace weft::gpu {
namespace {

using std::filesystem::path;

std::string variable(const char* name, std::string_view otherwise = "") {
  const char* const value = std::getenv(name);
  return value && *value ? value : std::string(otherwise);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ':');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

void add_manifests(const path& folder, std::vector<path>& out) {
  std::error_code ignored;
  std::vector<path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".json") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  out.insert(out.end(), found.begin(), found.end());
}

// As Vulkan's loader finds them (LoaderDriverInterface.md, "Driver Discovery on Linux").
std::vector<path> manifests() {
  std::vector<path> out;
  const std::string given = variable("VK_DRIVER_FILES", variable("VK_ICD_FILENAMES"));
  for (const std::string& name : split(given.empty() ? variable("VK_ADD_DRIVER_FILES") : given)) {
    std::error_code ignored;
    if (std::filesystem::is_directory(name, ignored))
      add_manifests(name, out);
    else
      out.emplace_back(name);
  }
  if (!given.empty()) return out;
  const path home = variable("HOME");
  std::vector<path> roots = {variable("XDG_CONFIG_HOME", (home / ".config").string())};
  for (const std::string& root : split(variable("XDG_CONFIG_DIRS", "/etc/xdg"))) roots.emplace_back(root);
  roots.emplace_back("/etc");
  roots.emplace_back(variable("XDG_DATA_HOME", (home / ".local/share").string()));
  for (const std::string& root : split(variable("XDG_DATA_DIRS", "/usr/local/share:/usr/share"))) {
    roots.emplace_back(root);
  }
  for (const path& root : roots) add_manifests(root / "vulkan/icd.d", out);
  return out;
}

// The library of a driver, or nothing if the file does not say.
std::optional<std::string> library_of(const path& manifest) {
  std::ifstream in(manifest);
  const auto json = nlohmann::json::parse(in, nullptr, false);
  if (!json.is_object() || !json.contains("ICD") || !json["ICD"].is_object()) return std::nullopt;
  const auto& icd = json["ICD"];
  if (!icd.contains("library_path") || !icd["library_path"].is_string()) return std::nullopt;
  const path library = icd["library_path"].get<std::string>();
  if (library.is_relative() && library.has_parent_path()) return (manifest.parent_path() / library).string();
  return library.string();
}

bool is_there(const path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

// Where container runtimes put what Vulkan's loader does not look for there.
constexpr const char* kNvidiaManifests[] = {"/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json",
                                            "/usr/local/nvidia/vulkan/icd.d/nvidia_icd.json"};

}  // namespace

std::vector<std::string> driver_problems() {
  std::vector<std::string> problems;
  if (const auto why = cannot_load("libvulkan.so.1")) {
    problems.push_back(
        std::format("Vulkan's loader cannot be loaded: {}; Debian and Ubuntu have it in the package "
                    "libvulkan1, Fedora in vulkan-loader",
                    *why));
  }
  bool nvidia = false;
  for (const path& manifest : manifests()) {
    if (!is_there(manifest)) {
      problems.push_back(std::format("VK_DRIVER_FILES names {}, which is not there", manifest.string()));
      continue;
    }
    const auto library = library_of(manifest);
    if (!library) {
      problems.push_back(std::format("{} does not name a driver's library", manifest.string()));
      continue;
    }
    nvidia |= library->find("nvidia") != std::string::npos;
    const auto why = cannot_load(*library);
    if (!why) continue;
    problems.push_back(std::format("the driver {} of {} cannot be loaded: {}{}", *library, manifest.string(), *why,
                                   library->find("nvidia") != std::string::npos
                                       ? "; beside its own files NVIDIA's driver needs libX11, libXext and libglvnd "
                                         "(Debian and Ubuntu: libx11-6 libxext6 libegl1 libgl1)"
                                       : ""));
  }
  if (!nvidia && (is_there("/proc/driver/nvidia/version") || is_there("/dev/nvidiactl"))) {
    const auto* const elsewhere = std::ranges::find_if(kNvidiaManifests, [](const char* m) { return is_there(m); });
    problems.push_back(
        elsewhere != std::end(kNvidiaManifests)
            ? std::format("an NVIDIA GPU is here, but Vulkan's loader does not look where its driver is: set "
                          "VK_DRIVER_FILES={}",
                          *elsewhere)
            : std::string("an NVIDIA GPU is here, but its driver for Vulkan is not (nvidia_icd.json): in a container "
                          "set NVIDIA_DRIVER_CAPABILITIES=all, elsewhere install the driver's graphics part"));
  }
  return problems;
}

}  // namespace weft::gpu

#else

std::vector<std::string> weft::gpu::driver_problems() { return {}; }

#endif
