// Package ardp implements the Asynchronous Reliable Delivery Protocol, which carries Prospero
// messages over UDP. It numbers packets, acknowledges each window of 16, and retransmits lost ones.
//
// A client sends one request and reads one reply as a stream. It buffers only packets received out
// of order, at most about two windows.
package ardp
