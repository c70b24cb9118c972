// Rendering of the WGSL templates: Jinja by minja.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::kernels {

// Renders the template with `variables`. A tag of a statement or comment that is alone on its line removes the whole
// line. Parsed templates are cached; safe to call from several threads. Throws InternalError.
std::string render_template(const std::string& text, const nlohmann::ordered_json& variables);

}  // namespace weft::kernels
