# The project's own programs, which were built by integration/lab-up.sh.
FROM debian:bookworm-slim
COPY integration/servers/own/bin/ integration/servers/greets /usr/local/bin/
