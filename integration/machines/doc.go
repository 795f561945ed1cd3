// Package machines tests queues on many machines: three workers retrieve from many hosts what waits
// on a cluster of three NATS servers, while all of these are killed and cut off. They run in
// docker-compose, in the profile machines; see integration/lab-up.sh.
package machines
