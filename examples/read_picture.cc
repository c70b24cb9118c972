// Reads the text in a picture, and marks what stands out in a photograph, by models of ONNX:
//   read_picture --detector det.onnx --recognizer rec.onnx --text page.png
//   read_picture --saliency vit_s_focus.onnx --photo street.jpg
// The models are PaddleOCR's PP-OCRv6, which finds lines of text and reads them, and a ViT-S that says how much each
// part of a photograph matters. `./dev demo onnx` fetches them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "pictures.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// ---- Text

struct Box {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;  // in pixels, the last two not part of it
  std::int64_t height() const { return bottom - top; }
  std::int64_t width() const { return right - left; }
};

// The picture as f32 [1, 3, height, width] between -1 and 1, in the order blue, green, red: what PaddleOCR's models
// take.
Tensor as_input(const app::Picture& p, std::int64_t height, std::int64_t width) {
  using Options = app::PictureOptions;
  Options options;
  options.size = {height, width};
  options.channels = Options::Channels::bgr;
  options.mean = {127.5};
  options.scale = {1 / 127.5};
  return app::picture_tensor(p, std::vector<std::optional<std::int64_t>>{1, 3, std::nullopt, std::nullopt}, DType::f32,
                             options);
}

// Regions of neighbours in which a map is above a threshold, as boxes; those whose mean is low, or that are tiny, are
// none.
std::vector<Box> regions(const std::vector<float>& map, std::int64_t height, std::int64_t width) {
  constexpr float kThreshold = 0.3f, kMean = 0.5f;
  std::vector<bool> seen(map.size());
  std::vector<Box> boxes;
  std::vector<std::int64_t> open;
  for (std::int64_t start = 0; start < height * width; ++start) {
    if (seen[static_cast<std::size_t>(start)] || map[static_cast<std::size_t>(start)] <= kThreshold) continue;
    Box box{height, width, 0, 0};
    double sum = 0;
    std::int64_t count = 0;
    seen[static_cast<std::size_t>(start)] = true;
    open.assign(1, start);
    while (!open.empty()) {
      const std::int64_t at = open.back(), r = at / width, c = at % width;
      open.pop_back();
      box = {std::min(box.top, r), std::min(box.left, c), std::max(box.bottom, r + 1), std::max(box.right, c + 1)};
      sum += static_cast<double>(map[static_cast<std::size_t>(at)]);
      ++count;
      for (std::int64_t y = std::max<std::int64_t>(r - 1, 0); y <= std::min(r + 1, height - 1); ++y) {
        for (std::int64_t x = std::max<std::int64_t>(c - 1, 0); x <= std::min(c + 1, width - 1); ++x) {
          const auto next = static_cast<std::size_t>(y * width + x);
          if (seen[next] || map[next] <= kThreshold) continue;
          seen[next] = true;
          open.push_back(y * width + x);
        }
      }
    }
    if (sum / static_cast<double>(count) < static_cast<double>(kMean) || std::min(box.height(), box.width()) < 3)
      continue;
    boxes.push_back(box);
  }
  return boxes;
}

// The detector's map has the lines' cores: a box grows by as much of its area over its circumference as the detector
// was trained with. Source: Liao et al., "Real-time scene text detection with differentiable binarization", 2020.
Box grown(const Box& b, double scale_y, double scale_x, std::int64_t height, std::int64_t width) {
  constexpr double kRatio = 1.6;
  const double grow =
      kRatio * static_cast<double>(b.height() * b.width()) / static_cast<double>(2 * (b.height() + b.width()));
  const auto clamped = [](double v, std::int64_t most) { return std::clamp<std::int64_t>(std::llround(v), 0, most); };
  return {clamped((static_cast<double>(b.top) - grow) * scale_y, height),
          clamped((static_cast<double>(b.left) - grow) * scale_x, width),
          clamped((static_cast<double>(b.bottom) + grow) * scale_y, height),
          clamped((static_cast<double>(b.right) + grow) * scale_x, width)};
}

app::Picture cut(const app::Picture& p, const Box& b) {
  app::Picture y{.height = b.height(), .width = b.width(), .channels = p.channels, .pixels = {}};
  for (std::int64_t r = b.top; r < b.bottom; ++r) {
    const auto row = p.pixels.begin() + static_cast<std::ptrdiff_t>((r * p.width + b.left) * p.channels);
    y.pixels.insert(y.pixels.end(), row, row + static_cast<std::ptrdiff_t>(b.width() * p.channels));
  }
  return y;
}

// What the recogniser's scores say: the likeliest class at each place, where repetitions and blanks, class 0, are left
// out. Source: Graves et al., "Connectionist temporal classification", 2006.
std::pair<std::string, double> decoded(const Tensor& scores, const std::vector<std::string>& characters) {
  const std::vector<std::int64_t> best = argmax(scores, -1).cast(DType::i64).to_vector<std::int64_t>();
  const std::vector<float> how_sure = max(scores, {-1}).to_vector<float>();
  std::string text;
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (best[i] == 0 || (i > 0 && best[i] == best[i - 1])) continue;
    const auto c = static_cast<std::size_t>(best[i] - 1);
    text += c < characters.size() ? characters[c] : " ";
    sum += static_cast<double>(how_sure[i]);
    ++count;
  }
  return {text, count ? sum / count : 0};
}

// Draws the outline of a box, two pixels wide.
void mark(app::Picture& p, const Box& b) {
  constexpr std::uint8_t kRed[] = {230, 30, 30, 255};
  for (std::int64_t r = b.top; r < b.bottom; ++r) {
    for (std::int64_t c = b.left; c < b.right; ++c) {
      if (r >= b.top + 2 && r < b.bottom - 2 && c >= b.left + 2 && c < b.right - 2) continue;
      for (std::int64_t k = 0; k < p.channels; ++k) {
        p.pixels[static_cast<std::size_t>((r * p.width + c) * p.channels + k)] = kRed[p.channels == 1 ? 1 : k];
      }
    }
  }
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void read_text(const std::string& detector_path, const std::string& recognizer_path, const std::string& path,
               const std::string& marked) {
  const double start = seconds();
  const auto detector = onnx::Model::load(detector_path), recognizer = onnx::Model::load(recognizer_path);
  std::vector<std::string> characters;
  const auto& metadata = recognizer.description().metadata;
  if (const auto it = metadata.find("character"); it != metadata.end()) {
    std::istringstream lines(it->second);
    for (std::string line; std::getline(lines, line);) characters.push_back(line);
  }
  if (characters.empty()) throw FormatError(recognizer_path + ": its metadata has no list of characters");
  app::Picture picture = app::read_picture(path);
  // Sides are multiples of 32, the shorter one 736 pixels at least.
  const double scale = std::max(1.0, 736.0 / static_cast<double>(std::min(picture.height, picture.width)));
  const auto side = [&](std::int64_t n) {
    return std::max<std::int64_t>(32, std::llround(static_cast<double>(n) * scale / 32) * 32);
  };
  const std::int64_t height = side(picture.height), width = side(picture.width);
  const Tensor map = detector.run({{detector.inputs()[0].name, as_input(picture, height, width)}})[0];
  std::vector<Box> boxes;
  for (const Box& b : regions(map.to_vector<float>(), map.shape()[2], map.shape()[3])) {
    const Box line =
        grown(b, static_cast<double>(picture.height) / static_cast<double>(map.shape()[2]),
              static_cast<double>(picture.width) / static_cast<double>(map.shape()[3]), picture.height, picture.width);
    if (line.height() > 2 && line.width() > 2) boxes.push_back(line);
  }
  // In the order of reading: boxes whose middles are within half a height of each other are one line.
  std::ranges::sort(boxes, {}, [](const Box& b) { return b.top + b.bottom; });
  for (std::size_t i = 0; i < boxes.size();) {
    std::size_t end = i + 1;
    while (end < boxes.size() &&
           boxes[end].top + boxes[end].bottom - boxes[i].top - boxes[i].bottom < boxes[i].height())
      ++end;
    std::sort(boxes.begin() + static_cast<std::ptrdiff_t>(i), boxes.begin() + static_cast<std::ptrdiff_t>(end),
              [](const Box& a, const Box& b) { return a.left < b.left; });
    i = end;
  }
  const app::Picture clean = picture;
  for (const Box& b : boxes) {
    // 48 pixels high; widths are few, so that few graphs are compiled.
    const std::int64_t natural = std::llround(48.0 * static_cast<double>(b.width()) / static_cast<double>(b.height()));
    const std::int64_t columns = std::max<std::int64_t>(natural, 8),
                       padded = (std::max<std::int64_t>(columns, 320) + 159) / 160 * 160;
    Tensor line = as_input(cut(clean, b), 48, columns);
    if (padded > columns) line = concat({line, zeros({1, 3, 48, padded - columns})}, 3);
    const auto [text, sure] = decoded(recognizer.run({{recognizer.inputs()[0].name, line}})[0], characters);
    std::printf("%5.1f %%  %s\n", sure * 100, text.c_str());
    mark(picture, b);
  }
  app::write_png(marked, picture);
  std::printf("%zu lines in %.1f s on %s; %s shows where\n", boxes.size(), seconds() - start,
              detector.device().name().c_str(), marked.c_str());
}

// ---- What stands out

void mark_photo(const std::string& model_path, const std::string& path, const std::string& marked) {
  const double start = seconds();
  const auto model = onnx::Model::load(model_path);
  const app::Picture photo = app::read_picture(path);
  app::PictureOptions options;
  options.mean = {123.675, 116.28, 103.53};
  options.scale = {1 / 58.395, 1 / 57.12, 1 / 57.375};
  const Tensor x =
      app::picture_tensor(photo, std::vector<std::optional<std::int64_t>>{1, 3, 224, 224}, DType::f32, options);
  Tensor map = model.run({{model.inputs()[0].name, x}})[0];
  map = upsample(map.reshape({1, 1, map.shape()[map.rank() - 2], map.shape()[map.rank() - 1]}),
                 {photo.height, photo.width}, {.mode = ResizeMode::linear});
  const std::vector<float> weight = map.to_vector<float>();
  const auto [least, most] = std::ranges::minmax(weight);
  // What does not matter becomes dark and grey.
  app::Picture y{.height = photo.height, .width = photo.width, .channels = 3, .pixels = {}};
  double row = 0, column = 0, all = 0;
  for (std::int64_t i = 0; i < photo.height * photo.width; ++i) {
    const auto w = static_cast<double>((weight[static_cast<std::size_t>(i)] - least) / std::max(most - least, 1e-6f));
    row += w * w * static_cast<double>(i / photo.width);
    column += w * w * static_cast<double>(i % photo.width);
    all += w * w;
    const std::uint8_t* from = photo.pixels.data() + i * photo.channels;
    const double grey = (from[0] + from[photo.channels > 2 ? 1 : 0] + from[photo.channels > 2 ? 2 : 0]) / 3.0;
    for (int k = 0; k < 3; ++k) {
      const double own = from[photo.channels > 2 ? k : 0];
      y.pixels.push_back(static_cast<std::uint8_t>(std::lround(w * own + (1 - w) * (0.35 * grey))));
    }
  }
  app::write_png(marked, y);
  std::printf("most matters around %.0f %% from the top, %.0f %% from the left; %.1f s on %s; %s shows it\n",
              100 * row / std::max(all, 1e-9) / static_cast<double>(photo.height),
              100 * column / std::max(all, 1e-9) / static_cast<double>(photo.width), seconds() - start,
              model.device().name().c_str(), marked.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Reads the text in a picture, and marks what stands out in a photograph");
  std::string detector, recognizer, saliency, text, photo, output = ".";
  app.add_option("--detector", detector, "A model that finds lines of text, as PP-OCRv6_det_small.onnx");
  app.add_option("--recognizer", recognizer, "One that reads a line, as PP-OCRv6_rec_small.onnx");
  app.add_option("--text", text, "A picture with text, PNG or JPEG")->needs("--detector")->needs("--recognizer");
  app.add_option("--saliency", saliency, "A model that says how much each part matters, as vit_s_focus.onnx");
  app.add_option("--photo", photo, "A photograph, PNG or JPEG")->needs("--saliency");
  app.add_option("-o,--output", output, "Directory for the marked pictures")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    set_default_device(Device::open());
    if (!text.empty()) read_text(detector, recognizer, text, output + "/text-read.png");
    if (!photo.empty()) mark_photo(saliency, photo, output + "/photo-marked.png");
    if (text.empty() && photo.empty()) std::fprintf(stderr, "nothing to do: --text or --photo names a picture\n");
  } catch (const Error& e) {
    std::fprintf(stderr, "read_picture: %s\n", e.what());
    return 1;
  }
  return 0;
}
