// Package transcript plays recorded conversations of text protocols in tests, as the server for a
// client under test or as the client of a server under test.
//
// A conversation is a txtar archive, which may start with a comment. Each file is the script of one
// TCP connection, and each of its lines is one step:
//
//	# a comment; blank lines are ignored too
//	C: CWD /etc         the client sends the text after the space and CR LF
//	S: 250 ok           the server sends it; "S:" alone is an empty line
//	C"raw\n"            the client sends exactly the bytes of a Go string
//	S"raw\xff\n"        the server does
//	C< 0d 0a            the client sends exactly these bytes, in hexadecimal
//	S< ff fb01          the server does
//	C< 01 {id}          four bytes of any value in place of {id}
//	S< 02 {id}          the server repeats these bytes
//	C? QUIT             the client may send this line
//	C!close             the client closes its side of the connection
//	S!close             the server closes the connection; later input is lost
//	S!reset             the server resets the connection; its last bytes may be lost
//	S!stall             the server stops sending and keeps the connection open
//	S!wait NAME         the server waits until the script NAME has been played
//
// After the last step the server waits for the client to close the connection, or for the test to
// end. Nothing may follow S!close, S!reset and S!stall.
//
// Lines with a colon may contain variables, because ports are not known in advance:
//
//	$HOST               127.0.0.1
//	$PORT               the port of the server
//	$PORT{NAME}         the port for the connection of script NAME
//	$EPSV{NAME}         the same as |||6446|
//	$PASV{NAME}         the same as 127,0,0,1,25,46
//
// A script named by such a variable has a port of its own, like an FTP data connection. All others
// are played on the server's port, in the order of the archive.
//
//	-- control --
//	S: 220 ready
//	C: EPSV
//	S: 229 Extended passive mode ($EPSV{data})
//	C: RETR motd
//	S: 150 here it comes
//	S!wait data
//	S: 226 done
//	-- data --
//	S: Welcome.
//	S!close
package transcript

import (
	"fmt"
	"os"
	"strings"
)

// A Conversation is a parsed transcript. It can be played any number of times.
type Conversation struct {
	name    string // file name for messages
	scripts []*script
}

// A script lists the steps of one connection.
type script struct {
	name    string
	ownPort bool // has a port of its own
	steps   []step
}

// A step is one line of a script.
type step struct {
	line     int // in the archive, from 1
	client   bool
	action   action
	data     []byte // for say: with the line end, before variables are replaced
	vars     bool   // replace variables in data
	optional bool
	numbers  []number
	wait     string // name of a script
}

// A number is a sequence of bytes that the client chooses.
type number struct {
	at   int    // offset in the data of the step
	name string // with braces
}

const numberSize = 4

// chosen reports whether byte i belongs to a number.
func (s step) chosen(i int) bool {
	for _, n := range s.numbers {
		if i >= n.at && i < n.at+numberSize {
			return true
		}
	}
	return false
}

// An action is an operation of one side.
type action uint8

const (
	say action = iota
	closeConn
	reset
	stall
	wait
)

// Load reads a transcript from a file.
func Load(path string) (*Conversation, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// script returns the script with this name, or nil.
func (c *Conversation) script(name string) *script {
	for _, s := range c.scripts {
		if s.name == name {
			return s
		}
	}
	return nil
}

// main returns the scripts for the server's port.
func (c *Conversation) main() (scripts []*script) {
	for _, s := range c.scripts {
		if !s.ownPort {
			scripts = append(scripts, s)
		}
	}
	return scripts
}

// String returns the step as a transcript line.
func (s step) String() string {
	side := "S"
	if s.client {
		side = "C"
	}
	switch s.action {
	case closeConn:
		return side + "!close"
	case reset:
		return side + "!reset"
	case stall:
		return side + "!stall"
	case wait:
		return side + "!wait " + s.wait
	}
	if s.optional {
		return side + "? " + strings.TrimSuffix(string(s.data), "\r\n")
	}
	if s.numbers != nil {
		return side + "<" + s.hex()
	}
	return side + quote(s.data, s.vars)
}

// hex returns a space and the data of the step in hexadecimal, with the names of its numbers.
func (s step) hex() string {
	var b strings.Builder
	at := 0
	for _, n := range s.numbers {
		fmt.Fprintf(&b, " %x %s", s.data[at:n.at], n.name)
		at = n.at + numberSize
	}
	fmt.Fprintf(&b, " %x", s.data[at:])
	return b.String()
}
