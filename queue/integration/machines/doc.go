// Package machines tests queues on many machines. Three workers retrieve from many hosts, with a
// cluster of three NATS servers, while all of these are killed and disconnected. They run in the
// profile machines of docker-compose; see integration/lab-up.sh.
package machines
