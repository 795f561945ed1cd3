# The same programs, which were built by integration/lab-up.sh.
FROM debian:bookworm-slim
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nats-server \
 && rm -rf /var/lib/apt/lists/*
RUN mkdir /artefacts /data && chown nobody /artefacts /data
COPY integration/servers/machines/bin/ /usr/local/bin/
USER nobody
