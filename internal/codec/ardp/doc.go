// Package ardp is the Asynchronous Reliable Delivery Protocol, which carries Prospero's messages
// over UDP: packets with numbers, acknowledgements for every window of 16, and repetition of what
// was lost.
//
// A client sends one request and reads one reply, as a stream; no more than a window of it is held
// at a time.
package ardp
