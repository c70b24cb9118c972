// Every form of every kernel's text, compiled without being run.
//
// Random problems of all kernels (support/differential.h) are planned, not run, on devices of many kinds: those that
// there are, and made-up ones, which have other features and limits; each kind has seeds of its own. What is planned
// costs some microseconds, so there can be far more of them than of problems that are run. Texts go to Tint; with
// WEFT_DUMP_WGSL they are also written for Naga (tests/naga).
//
// What is sure, from any seed on, with WEFT_FORMS at kFormsCycle or more: every scalar function is compiled on every
// type that it takes, every cast and every function made of others, for each kind of device but "narrow"
// (forms_cases.cc goes through lists of them). And each template lists its options (kernels/options.h): the run fails
// if one of the templates was in no call, if no call had one of the values that it lists, or if a function of the
// library was in no text. What random problems rarely have, forms_cases.cc draws on purpose. That every combination of
// values is compiled is not sure.
//
// WEFT_FORMS sets how many problems there are of each kernel on each kind of device, numbered from WEFT_SEED on;
// WEFT_FORMS_PART, such as 2/8, takes a part of the kernels, so that processes can share them. What no problem had is
// written to the file WEFT_FORMS_REPORT, if it is set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <unordered_set>

#include "gpu/device_impl.h"
#include "gpu/shader_check.h"
#include "kernels/forms_cases.h"
#include "kernels/library.h"
#include "kernels/options.h"
#include "kernels/plan_state.h"
#include "kernels/source.h"
#include "support/differential.h"
#include "support/quick.h"
#include "support/unfilled.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using gpu::Capabilities;
using gpu::MatrixShape;

// A kind of device: what its kernels choose their forms by.
struct DeviceKind {
  std::string name;
  bool passes;  // its self-tests
  std::function<void(Capabilities&)> set;
};

std::vector<DeviceKind> device_kinds() {
  constexpr MatrixShape kNvidia[] = {{DType::f16, DType::f32, 16, 16, 16},
                                     {DType::f16, DType::f16, 16, 16, 16},
                                     {DType::i8, DType::i32, 16, 16, 32},
                                     {DType::u8, DType::u32, 16, 16, 32}};
  constexpr MatrixShape kApple[] = {{DType::f16, DType::f32, 8, 8, 8}, {DType::f32, DType::f32, 8, 8, 8}};
  constexpr MatrixShape kIntel[] = {{DType::f16, DType::f32, 8, 16, 16}, {DType::i8, DType::i32, 8, 16, 32}};
  const auto hardware = [](Capabilities& c, std::uint32_t least, std::uint32_t most) {
    c.software = c.minimum = false;
    c.f16 = c.subgroups = c.packed_dot = true;
    c.subgroup_min = least, c.subgroup_max = most;
    c.max_workgroup_memory = 32 << 10, c.max_workgroup_size = 1024;
    c.matrix_shapes.clear();
  };
  const auto with = [](Capabilities& c, std::span<const MatrixShape> shapes) {
    c.matrix_shapes.assign(shapes.begin(), shapes.end());
  };
  return {
      {"software", true, [](Capabilities&) {}},
      {"nvidia", true,
       [=](Capabilities& c) { hardware(c, 32, 32), c.max_workgroup_memory = 48 << 10, with(c, kNvidia); }},
      {"apple", true, [=](Capabilities& c) { hardware(c, 32, 32), with(c, kApple); }},
      {"intel", true, [=](Capabilities& c) { hardware(c, 16, 16), with(c, kIntel); }},
      {"amd", true, [=](Capabilities& c) { hardware(c, 32, 64); }},
      {"untested", false, [=](Capabilities& c) { hardware(c, 32, 32), with(c, kNvidia); }},
      {"plain", false,
       [=](Capabilities& c) {
         hardware(c, 0, 0);
         c.f16 = c.subgroups = c.packed_dot = false;
         c.max_workgroup_memory = 64 << 10, c.max_workgroup_size = 128;
       }},
      // As WebGPU's compatibility level, through OpenGL ES.
      {"phone", false,
       [=](Capabilities& c) {
         hardware(c, 0, 0);
         c.f16 = c.subgroups = c.packed_dot = false;
         c.minimum = c.reassociates_fp = true;
         c.max_workgroup_memory = 16 << 10, c.max_workgroup_size = 128, c.max_storage_buffers = 8;
       }},
      // Subgroups of four.
      {"mobile", true,
       [=](Capabilities& c) {
         hardware(c, 4, 4);
         c.max_workgroup_memory = 16 << 10, c.max_workgroup_size = 256;
       }},
      {"narrow", true, [=](Capabilities& c) { hardware(c, 32, 32), c.max_binding = 8 << 10; }},
  };
}

gpu::Device& device_of(const DeviceKind& kind) {
  static auto& opened = *new std::map<std::string, gpu::Device>;
  if (const auto found = opened.find(kind.name); found != opened.end()) return found->second;
  gpu::DeviceOptions options = like(devices().front().device);
  options.cache_dir = "off";
  gpu::Device device = gpu::Device::open(options);
  kind.set(device.impl().context->capabilities);
  if (kind.name != "software") device.impl().every_verdict = kind.passes;
  return opened.emplace(kind.name, std::move(device)).first->second;
}

// ---- What was compiled

std::string text_of(const kernels::OptionValue& value) {
  return std::visit(
      []<class T>(const T& v) -> std::string {
        if constexpr (std::is_same_v<T, bool>)
          return v ? "true" : "false";
        else if constexpr (std::is_same_v<T, std::string>)
          return v;
        else if constexpr (std::is_same_v<T, std::int64_t>)
          return std::to_string(v);
        else
          return "";
      },
      value);
}

const std::vector<kernels::TemplateOption>& options_of(std::string_view name) {
  static auto& known = *new std::map<std::string, std::vector<kernels::TemplateOption>, std::less<>>;
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  return known.emplace(name, kernels::parse_options(name, kernels::built_source(name))).first->second;
}

// The values that a test must see.
std::vector<std::string> listed_values(const kernels::TemplateOption& option) {
  using Kind = kernels::TemplateOption::Kind;
  if (option.kind == Kind::flag) return {"true", "false"};
  return option.kind == Kind::listed ? option.values : std::vector<std::string>();
}

struct Compiled {
  std::map<std::string, std::set<std::string>, std::less<>>
      values;  // of each template that was called, as "option=value"
  std::unordered_set<std::string> keys, calls, functions, reasons;
  std::unordered_set<std::uint64_t> texts;
  std::uint64_t problems = 0, dispatches = 0, failures = 0;
};
Compiled& compiled() {
  static Compiled& all = *new Compiled;
  return all;
}

// Those of the call that are listed, for each of its templates.
void add_values(const kernels::CallForm& form) {
  const auto add = [&](std::string_view name) {
    std::set<std::string>& values = compiled().values[std::string(name)];
    for (const kernels::TemplateOption& option : options_of(name)) {
      const std::vector<std::string> listed = listed_values(option);
      const auto given = std::ranges::find(form.values, option.name, &kernels::OptionValues::value_type::first);
      if (listed.empty() || given == form.values.end()) continue;
      const auto* const list = std::get_if<std::vector<std::string>>(&given->second);
      const std::vector<std::string> all = list ? *list : std::vector{text_of(given->second)};
      for (const std::string& v : all) {
        values.insert(option.name + "=" + (std::ranges::find(listed, v) != listed.end() ? v : "number"));
      }
    }
  };
  for (const std::string& name : form.includes) add(name);
  add(form.kernel);
}

// The names of what `keyword` declares at the beginning of lines.
std::vector<std::string> declared_names(std::string_view text, std::string_view keyword) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1) {
    std::string_view rest = text.substr(at);
    if (!rest.starts_with(keyword)) continue;
    rest.remove_prefix(keyword.size());
    names.emplace_back(rest.substr(0, rest.find('(')));
  }
  return names;
}

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

void dump(const std::string& directory, const std::string& name, const std::string& wgsl, std::string title) {
  std::filesystem::create_directories(directory);
  std::ranges::replace(title, '\n', ' ');
  std::ofstream(std::filesystem::path(directory) / std::format("{}_{:016x}.wgsl", name, std::hash<std::string>()(wgsl)))
      << "// " << title << "\n"
      << wgsl;
}

// Templates that no call had, values that none gave, functions of the library that no text has.
std::vector<std::string> what_was_unmet() {
  std::vector<std::string> lines;
  for (const kernels::KernelSource* s = kernels::kKernelSources; s->name; ++s) {
    const std::string name = s->name;
    const auto seen = compiled().values.find(name);
    if (seen != compiled().values.end()) {
      for (const kernels::TemplateOption& option : options_of(name)) {
        for (const std::string& v : listed_values(option)) {
          if (!seen->second.contains(option.name + "=" + v)) {
            lines.push_back(std::format("{}: no problem has the option {} = '{}'", name, option.name, v));
          }
        }
      }
      continue;
    }
    const std::vector<std::string> functions = declared_names(s->text, "fn ");
    const auto of_library = [](const std::string& f) {
      return kernels::has_common_form(f) || kernels::has_device_form(f);
    };
    if (functions.empty() || !std::ranges::all_of(functions, of_library)) {
      lines.push_back(std::format("{}: no problem has the template", name));
    }
    for (const std::string& f : functions) {
      if (of_library(f) && !compiled().functions.contains(f)) {
        lines.push_back(std::format("{}: no problem has the function {}", name, f));
      }
    }
  }
  return lines;
}

// ---- Plans

// The problem's operands without memory, sharing it as the problem's do.
struct Unplaced {
  std::vector<View> views;
  std::size_t inputs;
  explicit Unplaced(const Problem& p) : inputs(p.inputs.size()) {
    std::map<std::uint64_t, Buffer> buffers;
    for (const auto* list : {&p.inputs, &p.outputs}) {
      for (View v : *list) {
        if (v.buffer && !v.buffer.is_number()) {
          Buffer& buffer = buffers[v.buffer.id()];
          if (!buffer) buffer = Buffer::placeholder((v.buffer.size() + 15) / 16 * 16);
          v.buffer = buffer;
        }
        views.push_back(v);
      }
    }
  }
};

class Forms : public testing::Test {
 protected:
  void plan(const std::string& kernel, const DeviceKind& kind, std::uint64_t form) {
    Rng rng(form);
    const auto own = forms_cases().find(kernel);
    const Problem problem = own == forms_cases().end() ? random_problem(kernel, rng) : own->second(rng, form);
    what_ = std::format("{} of seed {} for {}: {}", kernel, form, kind.name, problem.what);
    plan(device_of(kind), kind.name, problem, problem.call);
    // Forms are only for views with elements.
    const auto empty = [](const View& v) { return v.count() == 0; };
    if (problem.form && std::ranges::none_of(problem.inputs, empty) && std::ranges::none_of(problem.outputs, empty)) {
      plan(device_of(kind), kind.name, problem, problem.form);
    }
    ++compiled().problems;
  }

 private:
  // Loops, and sorting of what exceeds bindings, dispatch the same forms over and over: after so many nothing new is
  // expected of the problem.
  static constexpr std::uint64_t kRepeated = 1000;
  struct Repeats {};

  void plan(gpu::Device& device, const std::string& kind, const Problem& problem, const KernelCall& call) {
    const Unplaced operands(problem);
    std::vector<const View*> pointers;
    for (const View& v : operands.views) pointers.push_back(&v);
    std::optional<kernels::CallForm> form;  // of the dispatch that is recorded next
    const kernels::ObservedForms observed([&](const kernels::CallForm& f) { form.emplace(f); });
    std::uint64_t repeated = 0;
    const auto inspect = [&](const gpu::Dispatch& d) {
      ++compiled().dispatches;
      if (!compiled().keys.insert(std::format("{} {}", kind, d.key)).second) {
        if (++repeated > kRepeated) throw Repeats();
        return;
      }
      repeated = 0;
      add_values(*form);
      check_names(*form);
      compile(d.make_wgsl(), std::string(form->kernel), d.key);
    };
    try {
      kernels::Planner planner(device, pointers, kernels::PlanFor::inspection, inspect);
      const std::span<const View> views(operands.views);
      call(planner, views.first(operands.inputs), views.subspan(operands.inputs));
    } catch (const Repeats&) {
    } catch (const Unsupported&) {  // on such a device
    } catch (const std::exception& e) {
      fail(e.what());
    }
  }

  void compile(const std::string& wgsl, const std::string& kernel, std::string_view key) {
    if (!compiled().texts.insert(std::hash<std::string>()(wgsl)).second) return;
    for (std::string& name : declared_names(wgsl, "fn ")) compiled().functions.insert(std::move(name));
    if (const std::string directory = flag_text(Flag::dump_wgsl); !directory.empty()) {
      dump(directory, kernel, wgsl, std::string(key));
    }
    // On a device without a cache of pipelines, which would keep the texts.
    static gpu::Device& compiler = device_of(device_kinds().front());
    const auto problem = gpu::shader_problem(compiler, wgsl);
    if (!problem) return;
    std::string line;
    std::istringstream lines(wgsl);
    for (std::uint64_t i = 0; i < problem->line; ++i) std::getline(lines, line);
    fail(std::format("{}, line {}: {}\n  {}\nof key {}", kernel, problem->line, problem->message, line, key));
  }

  // A macro of the same name would hide an option.
  void check_names(const kernels::CallForm& form) {
    std::vector<std::string> parts(form.includes.begin(), form.includes.end());
    parts.emplace_back(form.kernel);
    std::string call;
    for (const std::string& part : parts) call += part + " ";
    if (!compiled().calls.insert(call).second) return;
    std::set<std::string> macros;
    for (const std::string& part : parts) {
      for (const char* begin : {"{% macro ", "{%- macro "}) {
        for (std::string& name : declared_names(kernels::built_source(part), begin)) macros.insert(std::move(name));
      }
    }
    for (const auto& [name, value] : form.values) {
      if (macros.contains(name)) fail(std::format("{}: a macro has the name of the option {}", call, name));
    }
  }

  void fail(const std::string& why) {
    ++compiled().failures;
    if (compiled().reasons.insert(why).second && compiled().reasons.size() <= 20)
      ADD_FAILURE() << what_ << ":\n" << why;
  }

  std::string what_;
};

TEST_F(Forms, Compile) {
  if (devices().empty()) GTEST_SKIP() << "no device";
  const std::uint64_t count = number_of("WEFT_FORMS", scaled(6)), seed = number_of("WEFT_SEED", 1);
  std::uint64_t part = 1, parts = 1;
  if (const char* const text = std::getenv("WEFT_FORMS_PART")) {
    char* slash = nullptr;
    part = std::strtoull(text, &slash, 10), parts = *slash == '/' ? std::strtoull(slash + 1, nullptr, 10) : 1;
  }
  const std::vector<DeviceKind> kinds = device_kinds();
  const UnfilledViews unfilled;
  std::vector<std::string> kernels = differential_kernels();
  for (const auto& [name, generator] : forms_cases()) kernels.push_back(name);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (k % parts + 1 != part) continue;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      // Large tensors would be cut into millions of pieces.
      if (kinds[i].name == "narrow" && forms_cases().contains(kernels[k])) continue;
      const std::uint64_t first = seed + i * count;
      for (std::uint64_t form = first; form < first + count; ++form) plan(kernels[k], kinds[i], form);
    }
  }
  const Compiled& c = compiled();
  std::printf("[   FORMS  ] %zu problems, %zu dispatches, %zu forms on some device, %zu texts, %zu failed\n",
              static_cast<std::size_t>(c.problems), static_cast<std::size_t>(c.dispatches), c.keys.size(),
              c.texts.size(), static_cast<std::size_t>(c.failures));
  const std::vector<std::string> unmet = what_was_unmet();
  if (const char* const file = std::getenv("WEFT_FORMS_REPORT")) {
    std::ofstream report(file);
    for (const std::string& line : unmet) report << line << "\n";
  }
  if (parts > 1 || count < kFormsCycle) return;
  for (const std::string& line : unmet) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace weft::test
