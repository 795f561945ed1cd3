package servers

import (
	"fmt"
	"time"
)

// A Fault is a way in which a server fails.
type Fault uint8

// The faults. All but Split and Noise strike in the midst of the content, unless Failure.After says
// otherwise.
const (
	None Fault = iota
	// Cut closes the connections in order, over TLS without its closing alert.
	Cut
	// Reset resets the connections. What was sent last may be lost.
	Reset
	// HalfClose ends what the server sends, and leaves the client's direction open. In FTP, it
	// closes the data connection and says nothing on the control connection.
	HalfClose
	// Stall sends nothing more, and leaves the connections open.
	Stall
	// Short leaves out the rest of the content and ends the reply as if it were complete.
	Short
	// Abort leaves out the rest of the content and reports a failure, in protocols that can do so
	// at this point.
	Abort
	// Endless repeats the content until the client is gone. In a reply of one line, the line has no
	// end; in one of several, there is no last one.
	Endless
	// Drip goes on slowly, byte by byte.
	Drip
	// Split sends each byte of the reply in a segment of its own.
	Split
	// Noise sends bytes that are no reply in place of one.
	Noise
)

var faultNames = [...]string{"none", "cut", "reset", "half-close", "stall", "short", "abort", "endless", "drip", "split", "noise"}

// String returns the fault's name.
func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// Faults returns all faults but None.
func Faults() []Fault {
	all := make([]Fault, len(faultNames)-1)
	for i := range all {
		all[i] = Fault(i + 1)
	}
	return all
}

// Greeting is the command, for Failure.On, that a server answers with what it says first.
const Greeting = "\x00greeting"

// A Failure says which replies of a server fail, and how.
type Failure struct {
	Fault Fault
	// On is the beginning of the commands whose replies fail, in any case, such as "RETR"; or
	// Greeting. With "", those fail that have a content.
	On string
	// After is how many bytes of the content come before the fault: 0 means half of it, or half of
	// what is sent first if the server does not know the size; less than 0 means none. A content
	// that is shorter ends in the fault. Of a reply without a content, the lines before the last
	// are the content, or the only line.
	After int64
	// Times is how many replies fail: 0 means one, less than 0 all.
	Times int
	// Every is the time between two bytes of Drip, by default 50 milliseconds, or two repetitions
	// of Endless, by default none.
	Every time.Duration
}

// Place returns where the fault strikes in a content of so many bytes.
func (f Failure) Place(size int64) int64 {
	switch {
	case f.After < 0:
		return 0
	case f.After > 0:
		return min(f.After, size)
	}
	return size / 2
}

// defaultDrip is the time between two bytes.
const defaultDrip = 50 * time.Millisecond

// noise is no reply in any protocol: longer than the header of any message, and full of line ends.
var noise = func() []byte {
	b := []byte("\x00\xff\x7f\x1b[31m noise\r\n\x01\x02\r\n\r\n<html>\r\n")
	for len(b) < 2048 {
		b = append(b, "\r\n5OO what?\x80"...)
	}
	return append(b, "\r\n"...)
}()
