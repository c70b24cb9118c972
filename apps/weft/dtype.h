// --dtype: the type in which a model is stored.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "weft/compile.h"

namespace weft::app {

inline void add_dtype(CLI::App& command, std::string& dtype) {
  command
      .add_option(
          "--dtype", dtype,
          "What weights and what lies between kernels are stored in: f32, f16, or auto (f16 where it keeps the error "
          "bound; WEFT_LOG=precision says where). By default what --precision says")
      ->check(CLI::IsMember({"f32", "f16", "auto"}));
}

inline std::optional<Precision> precision_of(const std::string& dtype) {
  if (dtype.empty()) return std::nullopt;
  if (dtype == "f16") return Precision::f16;
  return dtype == "auto" ? Precision::automatic : Precision::strict;
}

}  // namespace weft::app
