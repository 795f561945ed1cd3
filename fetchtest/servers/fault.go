package servers

import (
	"fmt"
	"time"
)

// A Fault is a way for a server to fail.
type Fault uint8

// All faults except Split and Noise occur in the middle of the content, unless Failure.After says
// otherwise.
const (
	None Fault = iota
	// Cut closes the connections without a reset. Over TLS, it sends no close_notify.
	Cut
	// Reset resets the connections. The last bytes sent may be lost.
	Reset
	// HalfClose closes the sending side and keeps reading. In FTP, it closes the data connection
	// and sends no reply on the control connection.
	HalfClose
	// Stall stops sending and keeps the connections open.
	Stall
	// Short omits the rest of the content and ends the reply as if it were complete.
	Short
	// Abort omits the rest of the content and reports a failure, in protocols that allow this.
	Abort
	// Endless repeats the content until the client closes the connection. A reply of one line never
	// ends its line; a reply of several lines never has a last line.
	Endless
	// Drip sends the rest slowly, byte by byte.
	Drip
	// Split sends each byte of the reply in its own segment.
	Split
	// Noise sends bytes that are not a reply of the protocol.
	Noise
)

var faultNames = [...]string{"none", "cut", "reset", "half-close", "stall", "short", "abort", "endless",
	"drip", "split", "noise"}

// String returns the fault's name.
func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// Faults returns all faults except None.
func Faults() []Fault {
	all := make([]Fault, len(faultNames)-1)
	for i := range all {
		all[i] = Fault(i + 1)
	}
	return all
}

// Greeting stands for the server's greeting in Failure.On.
const Greeting = "\x00greeting"

// A Failure selects the replies that fail and the fault.
type Failure struct {
	Fault Fault
	// On is a prefix of the commands whose replies fail, such as "RETR", or Greeting. Case is
	// ignored. "" means replies with content.
	On string
	// After is the number of content bytes before the fault. 0 means half of the content, or half
	// of the first write if the size is unknown. A negative number means none. A shorter content
	// ends with the fault. In a reply without content, all lines except the last count as content;
	// a single line counts completely.
	After int64
	// Times is the number of replies that fail. 0 means one; a negative number means all.
	Times int
	// Every is the interval between two bytes of Drip (default 50 milliseconds) or two repetitions
	// of Endless (default none).
	Every time.Duration
}

// Place returns the offset of the fault in content of size bytes.
func (f Failure) Place(size int64) int64 {
	switch {
	case f.After < 0:
		return 0
	case f.After > 0:
		return min(f.After, size)
	}
	return size / 2
}

// defaultDrip is the default interval between two bytes of Drip.
const defaultDrip = 50 * time.Millisecond

// noise is not a reply in any protocol. It is longer than any message header and has many line
// ends.
var noise = func() []byte {
	b := []byte("\x00\xff\x7f\x1b[31m noise\r\n\x01\x02\r\n\r\n<html>\r\n")
	for len(b) < 2048 {
		b = append(b, "\r\n5OO what?\x80"...)
	}
	return append(b, "\r\n"...)
}()
