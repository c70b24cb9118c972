// Rendering of the WGSL templates: Jinja by minja.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::kernels {

// The template with `variables` put in. Tags of statements and comments take the rest of their line with them when
// nothing else stands on it. Parsed templates are kept; safe to call from several threads. Throws InternalError.
std::string render_template(const std::string& text, const nlohmann::ordered_json& variables);

}  // namespace weft::kernels
