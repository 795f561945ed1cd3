# The same, built before by integration/lab-up.sh.
FROM debian:bookworm-slim
COPY integration/servers/machines/bin/ /usr/local/bin/
RUN mkdir /artefacts && chown nobody /artefacts
USER nobody
