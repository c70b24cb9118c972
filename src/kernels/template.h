// Rendering of the WGSL templates: Jinja by minja.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace weft::kernels {

// Renders the templates one after the other with `variables`; each also has the macros and variables of those before. A
// tag of a statement or comment that is alone on its line removes the whole line. Parsed templates are cached, so that
// what many kernels include is parsed once; safe to call from several threads. Throws InternalError.
std::string render_templates(std::span<const std::string> texts, const nlohmann::ordered_json& variables);

}  // namespace weft::kernels
