// weft kernels and weft ops: the schemas of the kernel library and of graphs.

#include <algorithm>
#include <format>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "core/format.h"
#include "core/nearest.h"
#include "onnx/node.h"
#include "onnx/tracer.h"
#include "output.h"
#include "weft/error.h"
#include "weft/kernels/table.h"
#include "weft/schema.h"
#include "weft/webnn/schema.h"

namespace weft::app {
namespace {

struct Options {
  std::string filter;
  bool json = false;
  bool webnn = false;
  bool onnx = false;
};

using Json = nlohmann::ordered_json;

Json json(const AttributeValue& value) {
  if (const auto* n = std::get_if<Number>(&value)) return n->as_int64() ? Json(*n->as_int64()) : Json(n->value());
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) return *numbers;
  return std::get<std::vector<std::int64_t>>(value);
}

Json json(const std::vector<OperandSchema>& operands) {
  constexpr const char* kArities[] = {"one", "optional", "repeated"};
  Json all = Json::array();
  for (const OperandSchema& o : operands) {
    all.push_back({{"name", o.name},
                   {"arity", kArities[static_cast<int>(o.arity)]},
                   {"min_rank", o.min_rank},
                   {"max_rank", o.max_rank}});
    if (!o.shape.empty()) all.back()["shape"] = o.shape;
    if (!o.type.empty()) all.back()["type"] = o.type;
  }
  return all;
}

Json json(const Schema& s, const TypeSignature& signature) {
  Json all;
  const auto operand = [&](std::size_t i) {
    return i < s.inputs.size() ? s.inputs[i].name : s.outputs[i - s.inputs.size()].name;
  };
  for (std::size_t i = 0; i < signature.size(); ++i) {
    if (signature[i].same_as >= 0) {
      all[operand(i)] = {{"as", operand(static_cast<std::size_t>(signature[i].same_as))}};
      continue;
    }
    Json types = Json::array();
    for (int t = 0; t < kDTypeCount; ++t) {
      if (signature[i].set.contains(static_cast<DType>(t))) types.push_back(name(static_cast<DType>(t)));
    }
    all[operand(i)] = std::move(types);
  }
  return all;
}

Json json(const Schema& s) {
  Json attributes = Json::array(), signatures = Json::array();
  for (const AttributeSchema& a : s.attributes) {
    Json one{{"name", a.name}, {"type", name(a.kind)}};
    if (a.default_value && a.kind == AttributeKind::boolean)
      one["default"] = json(*a.default_value) != 0;
    else if (a.default_value)
      one["default"] = json(*a.default_value);
    if (!a.choices.empty()) one["choices"] = a.choices;
    one["text"] = to_string(a);
    one["meaning"] = a.meaning;
    attributes.push_back(std::move(one));
  }
  for (const TypeSignature& t : s.signatures) signatures.push_back(json(s, t));
  return {{"name", s.name},
          {"other_names", s.other_names},
          {"family", s.family},
          {"summary", s.summary},
          {"formula", s.formula},
          {"inputs", json(s.inputs)},
          {"outputs", json(s.outputs)},
          {"signatures", std::move(signatures)},
          {"types", s.types_text()},
          {"attributes", std::move(attributes)}};
}

template <class List>
std::string joined(const List& list, std::string_view between) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : std::string(between)) + item;
  return text;
}

std::string text(const Schema& s) {
  std::string out = std::format("  {:<22} {:<22} -> {:<6} {}\n", s.name, s.inputs_text(), s.outputs_text(), s.summary);
  const auto line = [&](const std::string& what) {
    if (!what.empty()) out += std::format("  {:<22} {}\n", "", what);
  };
  line(s.formula);
  for (const AttributeSchema& a : s.attributes) line(std::format("{}: {}", to_string(a), a.meaning));
  line(s.types_text());
  if (!s.other_names.empty()) line("also " + joined(s.other_names, " "));
  return out;
}

// The name of one of them, or of a family, that the filter probably means.
std::string nearest_of(const std::vector<const Schema*>& schemas, const std::string& filter) {
  Nearest near(filter);
  for (const Schema* s : schemas) {
    near.offer(s->name);
    near.offer(s->family);
    for (const std::string& other : s->other_names) near.offer(other);
  }
  return near.name();
}

// `what`: kernel or op.
void run(const Options& o, std::string_view what, std::vector<const Schema*> schemas) {
  Json all = Json::array();
  std::string family, listing;
  int shown = 0;
  for (const Schema* s : schemas) {
    const bool named = (s->name + ' ' + joined(s->other_names, " ")).find(o.filter) != std::string::npos;
    if (!named && s->family != o.filter) continue;
    ++shown;
    if (o.json) {
      all.push_back(json(*s));
      continue;
    }
    if (s->family != family) listing += (family.empty() ? "" : "\n") + s->family + "\n";
    family = s->family;
    listing += text(*s);
  }
  if (shown == 0) {
    throw InvalidArgument("no {}'s name holds '{}' and no family is called so{}; 'weft {}s' lists all", what, o.filter,
                          nearest_text(nearest_of(schemas, o.filter)), what);
  }
  Output out("-");
  out.write(o.json ? all.dump(2) + "\n" : listing);
  out.commit();
}

// ---- WebNN's operations

Json json(const webnn::OpSchema& op, const webnn::ArgumentSchema& a) {
  constexpr const char* kKinds[] = {"operand", "operands", "boolean", "size",   "integer", "sizes",    "splits",
                                    "number",  "real",     "reals",   "choice", "choices", "data type"};
  Json one{{"name", a.name}, {"kind", kKinds[static_cast<int>(a.kind)]}, {"required", a.required}};
  if (a.kind == webnn::ArgumentKind::operand || a.kind == webnn::ArgumentKind::operands) {
    Json types = Json::array();
    for (int t = 0; t < kDTypeCount; ++t) {
      if (op.types_of(a).contains(static_cast<DType>(t))) types.push_back(webnn::data_type_name(static_cast<DType>(t)));
    }
    one["types"] = std::move(types);
    if (!a.same_as.empty()) one["same_as"] = a.same_as;
    one["min_rank"] = a.min_rank;
    one["max_rank"] = a.max_rank;
    return one;
  }
  if (!a.default_text.empty()) one["default"] = a.default_text;
  if (!a.choices.empty()) one["choices"] = a.choices;
  return one;
}

Json json(const webnn::OpSchema& op) {
  Json arguments = Json::array(), outputs = Json::array();
  for (const auto& a : op.arguments) arguments.push_back(json(op, a));
  for (const auto& a : op.outputs) outputs.push_back(json(op, a));
  return {
      {"name", op.name}, {"section", op.section}, {"arguments", std::move(arguments)}, {"outputs", std::move(outputs)}};
}

// "filter: as input, rank 4", "strides: a list of unsigned longs".
std::string text(const webnn::OpSchema& op, const webnn::ArgumentSchema& a) {
  const Json one = json(op, a);
  if (!one.contains("types")) {
    std::string what(webnn::name(a.kind));
    if (!a.choices.empty()) what = joined(a.choices, " | ");
    return std::format("{}: {}{}", a.name, what, a.default_text.empty() ? "" : " = " + a.default_text);
  }
  const std::string types =
      a.same_as.empty() ? joined(one["types"].get<std::vector<std::string>>(), " ") : "as " + a.same_as;
  const std::string ranks = a.min_rank == a.max_rank ? std::format(", rank {}", a.min_rank)
                            : a.min_rank == 0 && a.max_rank == kMaxRank
                                ? ""
                                : std::format(", rank {} to {}", a.min_rank, a.max_rank);
  return std::format("{}: {}{}", a.name, types, ranks);
}

std::string text(const webnn::OpSchema& op) {
  std::string names, options, results;
  for (const auto& a : op.arguments)
    (a.required ? names : options) += (a.required ? " " : "\n      ") + (a.required ? a.name : text(op, a));
  for (const auto& a : op.outputs) results += " " + a.name;
  std::string out = std::format("  {}{} ->{}\n", op.name, names, results);
  for (const auto& a : op.arguments) {
    if (a.required) out += std::format("      {}\n", text(op, a));
  }
  if (!options.empty()) out += options.substr(1) + "\n";
  for (const auto& a : op.outputs) out += std::format("      {}\n", text(op, a));
  return out;
}

void run_webnn(const Options& o) {
  Json all = Json::array();
  std::string listing;
  Nearest near(o.filter);
  for (const webnn::OpSchema& op : webnn::ops()) {
    near.offer(op.name);
    if (op.name.find(o.filter) == std::string::npos) continue;
    if (o.json)
      all.push_back(json(op));
    else
      listing += text(op);
  }
  if (listing.empty() && all.empty()) {
    throw InvalidArgument("no name of an operation of WebNN holds '{}'{}; 'weft ops --webnn' lists all", o.filter,
                          nearest_text(near.name()));
  }
  Output out("-");
  out.write(o.json ? all.dump(2) + "\n" : listing);
  out.commit();
}

// ---- ONNX's operators

// The versions of an operator's domain from which each of its forms counts, with what the form lacks.
using OnnxForms = std::map<std::int64_t, std::string_view>;

// By domain and name; "ai.onnx" for "".
std::map<std::pair<std::string_view, std::string_view>, OnnxForms> onnx_operators() {
  std::map<std::pair<std::string_view, std::string_view>, OnnxForms> all;
  for (const onnx::OperatorRows& file : onnx::all_rows()) {
    const std::string_view domain = file.domain.empty() ? "ai.onnx" : file.domain;
    for (const onnx::OperatorRow& row : file.rows) all[{domain, row.name}][row.since] = row.note;
  }
  // A model finds these first.
  for (const onnx::ControlRow& row : onnx::control_rows()) all[{"ai.onnx", row.name}] = {{row.since, row.note}};
  return all;
}

void run_onnx(const Options& o) {
  Json all = Json::array();
  std::string listing, domain;
  Nearest near(o.filter);
  for (const auto& [key, forms] : onnx_operators()) {
    near.offer(std::string(key.second));
    if (key.second.find(o.filter) == std::string_view::npos && key.first != o.filter) continue;
    Json versions = Json::array();
    std::string text;
    for (const auto& [since, note] : forms) {
      versions.push_back({{"since", since}, {"note", note}});
      text += std::format("{}from {}{}{}", text.empty() ? "" : "; ", since, note.empty() ? "" : ": ", note);
    }
    all.push_back({{"domain", key.first}, {"name", key.second}, {"forms", std::move(versions)}});
    if (key.first != domain) listing += std::format("{}{}\n", domain.empty() ? "" : "\n", key.first);
    domain = key.first;
    listing += std::format("  {:<28} {}\n", key.second, text);
  }
  if (all.empty()) {
    throw InvalidArgument("no name of an operator of ONNX holds '{}'{}; 'weft ops --onnx' lists all", o.filter,
                          nearest_text(near.name()));
  }
  Output out("-");
  out.write(o.json ? all.dump(2) + "\n" : listing);
  out.commit();
}

void add_list(CLI::App& app, std::string what, const std::string& description, const std::string& footer,
              std::function<std::vector<const Schema*>()> schemas) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(what + "s", description);
  command->add_option("FILTER", options->filter,
                      std::format("Only {}s whose name holds this, or of this family", what));
  command->add_flag("--json", options->json, "Write JSON instead of text");
  command->footer(footer);
  if (what == "op") {
    CLI::Option* webnn =
        command->add_flag("--webnn", options->webnn, "List WebNN's operations (weft/webnn.h) instead");
    command->add_flag("--onnx", options->onnx, "List the operators of models in ONNX's format (weft/onnx.h) instead")
        ->excludes(webnn);
  }
  command->callback([=] {
    if (options->webnn)
      run_webnn(*options);
    else if (options->onnx)
      run_onnx(*options);
    else
      run(*options, what, schemas());
  });
}

}  // namespace

void add_kernels(CLI::App& app) {
  add_list(app, "kernel", "List the kernel library: names, operands, types, attributes",
           "weft/kernels.h has them as functions, weft/kernels/table.h by name.\n"
           "Optional operands end in a question mark; attributes with a default need not be given.\n"
           "Types are what a kernel takes on the CPU; GPUs only move f64. Numbers are floats and integers.\n\n"
           "Examples\n  weft kernels reduce\n  weft kernels --json | jq '.[].name'",
           [] {
             std::vector<const Schema*> all;
             for (const kernels::KernelInfo& k : kernels::table()) all.push_back(&k);
             return all;
           });
}

void add_ops(CLI::App& app) {
  add_list(app, "op", "List what graphs are made of: names, operands, types, attributes",
           "weft/graph.h has functions that add ops to a graph; some add several.\n"
           "Optional operands end in a question mark; attributes with a default need not be given.\n\n"
           "Examples\n  weft ops view\n  weft ops --webnn conv\n  weft ops --onnx Quantize\n  weft ops --json | jq '.[] | select(.family == "
           "\"norm\") | .attributes'",
           [] {
             std::vector<const Schema*> all;
             for (const Schema& s : function_schemas()) all.push_back(&s);
             // A function of an op's name is what that name calls.
             for (const Schema& s : op_schemas()) {
               if (!std::ranges::binary_search(function_schemas(), s.name, {}, &Schema::name)) all.push_back(&s);
             }
             std::ranges::stable_sort(all, {}, [](const Schema* s) { return s->family; });
             return all;
           });
}

}  // namespace weft::app
