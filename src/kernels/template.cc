// minja searches all of the remaining text for each token, so that its time grows with the square of the text's length:
// a kernel took 100 ms. Here it gets one outermost tag or block at a time, with the text between tags replaced by
// numbers, which takes 1–2 ms a kernel.
#include "kernels/template.h"

#include <minja.hpp>
#include <mutex>
#include <unordered_map>

#include "core/format.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr char kOpen = '\x01', kClose = '\x02';  // enclose the number of a piece of text

// An outermost piece: plain text, or the output of minja for a tag or a block.
struct Piece {
  std::string text;
  std::shared_ptr<minja::TemplateNode> node;
};

// Texts have numbers of their own in the process, because a macro of one template may be called by another.
struct Template {
  std::vector<Piece> pieces;
  std::vector<std::string> texts;
  std::size_t first_number = 0;  // that of texts[0]; the others' follow
};

// How a tag changes the depth of blocks: +1 opens, -1 closes.
int depth_change(std::string_view tag) {
  const std::string_view inside = tag.substr(2);
  const std::size_t begin = inside.find_first_not_of(" \t\n-~");
  if (begin == std::string_view::npos) return 0;
  const std::string_view keyword = inside.substr(begin, inside.find_first_of(" \t\n-~%(", begin) - begin);
  if (keyword.starts_with("end")) return -1;
  if (keyword == "if" || keyword == "for" || keyword == "macro" || keyword == "call" || keyword == "filter") return 1;
  return keyword == "set" && inside.find('=') == std::string_view::npos ? 1 : 0;
}

Template parse(const std::string& source, std::size_t first_number) {
  Template result{.pieces = {}, .texts = {}, .first_number = first_number};
  std::string block;  // the current outermost block so far, its text as numbers
  int depth = 0;
  const auto add_text = [&](std::string text) {
    if (text.empty()) return;
    if (depth == 0) {
      result.pieces.push_back({std::move(text), nullptr});
      return;
    }
    block += std::format("{}{}{}", kOpen, first_number + result.texts.size(), kClose);
    result.texts.push_back(std::move(text));
  };
  for (std::size_t at = 0; at < source.size();) {
    std::size_t tag = source.find('{', at);
    while (tag != std::string::npos && (tag + 1 >= source.size() || !std::strchr("{%#", source[tag + 1]))) {
      tag = source.find('{', tag + 1);
    }
    if (tag == std::string::npos) {
      add_text(source.substr(at));
      break;
    }
    const char kind = source[tag + 1];
    const std::size_t close = source.find(kind == '{' ? "}}" : kind == '%' ? "%}" : "#}", tag + 2);
    if (close == std::string::npos) throw InternalError("template: a tag is not closed: {}", source.substr(tag, 40));
    std::size_t end = close + 2, text_end = tag;
    const auto is_blank = [&](std::size_t i) { return source[i] == ' ' || source[i] == '\t'; };
    const auto is_space = [&](std::size_t i) { return is_blank(i) || source[i] == '\n'; };
    if (kind != '{') {
      // A statement or comment alone on its line removes the whole line.
      std::size_t line = tag;
      while (line > at && is_blank(line - 1)) --line;
      if (line == 0 || source[line - 1] == '\n') text_end = line;
      if (end < source.size() && source[end] == '\n') ++end;
    }
    // A hyphen removes the space beside a tag; minja sees numbers there.
    if (source[tag + 2] == '-') {
      while (text_end > at && is_space(text_end - 1)) --text_end;
    }
    if (source[close - 1] == '-') {
      while (end < source.size() && is_space(end)) ++end;
    }
    add_text(source.substr(at, text_end - at));
    const std::string_view text = std::string_view(source).substr(tag, close + 2 - tag);
    at = end;
    if (kind == '#') continue;
    block += text;
    if (kind == '%') depth += depth_change(text);
    if (depth > 0) continue;
    const minja::Options plain{.trim_blocks = false, .lstrip_blocks = false, .keep_trailing_newline = true};
    result.pieces.push_back({{}, minja::Parser::parse(block, plain)});
    block.clear();
  }
  if (depth != 0) throw InternalError("template: a block is not closed");
  return result;
}

using Templates = std::vector<std::shared_ptr<const Template>>;

const std::string& text_of(std::size_t number, const Templates& templates) {
  for (const auto& t : templates) {
    if (number - t->first_number < t->texts.size()) return t->texts[number - t->first_number];
  }
  throw InternalError("template: no text has the number {}", number);
}

// Appends `rendered` with its numbers replaced by the text that they stand for.
void append(std::string& result, const std::string& rendered, const Templates& templates) {
  for (std::size_t at = 0;;) {
    const std::size_t open = rendered.find(kOpen, at);
    result.append(rendered, at, open == std::string::npos ? open : open - at);
    if (open == std::string::npos) return;
    const std::size_t close = rendered.find(kClose, open);
    result += text_of(std::stoul(rendered.substr(open + 1, close - open - 1)), templates);
    at = close + 1;
  }
}

std::shared_ptr<const Template> parsed(const std::string& text) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<const Template>> templates;
  static std::size_t numbers = 0;
  const std::lock_guard lock(mutex);
  auto& entry = templates[text];
  if (!entry) {
    entry = std::make_shared<const Template>(parse(text, numbers));
    numbers += entry->texts.size();
  }
  return entry;
}

}  // namespace

std::string render_templates(std::span<const std::string> texts, const nlohmann::ordered_json& variables) {
  Templates templates;
  for (const std::string& text : texts) templates.push_back(parsed(text));
  const auto context = minja::Context::make(minja::Value(variables));
  std::string result;
  for (const auto& t : templates) {
    for (const Piece& piece : t->pieces) {
      if (piece.node)
        append(result, piece.node->render(context), templates);
      else
        result += piece.text;
    }
  }
  return result;
}

}  // namespace weft::kernels
