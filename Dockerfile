# The environment of ./dev as a container image: Debian testing with what Weft is built with.
#   docker build -t weft .
#   docker run --rm -it -v "$PWD:$PWD" -w "$PWD" -v weft-cache:/root/.cache/weft weft ./dev test
# With an NVIDIA GPU, add: --gpus all
FROM debian:testing
COPY cmake/environment/packages.txt /tmp/packages.txt
RUN apt-get update \
 && sed 's/#.*//' /tmp/packages.txt | xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* /tmp/packages.txt
ENV WEFT_ENVIRONMENT=host LC_ALL=C.UTF-8 NVIDIA_DRIVER_CAPABILITIES=all
