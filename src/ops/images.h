// Images whose channels are the last axis, as kernels want them: [n, c, spatial…].
#pragma once

#include <utility>
#include <vector>

#include "graph/op.h"
#include "kernels/common/moved_axis.h"

namespace weft {

// [n, spatial…, c] as [n, c, spatial…].
inline Layout channels_second(const Layout& layout) { return kernels::moved_axis(layout, layout.rank() - 1, 1); }
inline Shape channels_second(const Shape& shape) { return channels_second(Layout::dense(shape)).shape; }

// The views of a launch, and of the work around its op, in that layout if the op's channels are last.
class Images {
 public:
  Images(const Launch& call, bool channels_last)
      : channels_last_(channels_last),
        before_(all(call.fusion.prologue.operands)),
        after_(all(call.fusion.epilogue.operands)),
        call_(call) {}
  View operator()(const View& v) const { return channels_last_ ? v.with_layout(channels_second(v.layout)) : v; }
  View input(std::size_t i) const { return (*this)(call_.inputs[i]); }
  View output(std::size_t i) const { return (*this)(call_.outputs[i]); }
  kernels::Fusion fusion() const {
    return {{call_.fusion.prologue.expression, before_}, {call_.fusion.epilogue.expression, after_}};
  }

 private:
  std::vector<View> all(std::span<const View> views) const {
    std::vector<View> list;
    for (const View& v : views) list.push_back((*this)(v));
    return list;
  }

  bool channels_last_;
  std::vector<View> before_, after_;
  const Launch& call_;
};

}  // namespace weft
