// Package transcript plays recorded conversations of text protocols in tests, as the server for a
// client under test or as the client of a server under test.
//
// A conversation is a txtar archive. The comment at its beginning is for people. Each file is the
// script of one TCP connection, and each of its lines is one step:
//
//	# a comment; blank lines mean nothing either
//	C: CWD /etc         the client sends the text after the space, and CRLF
//	S: 250 ok           the server sends it; "S:" alone is an empty line
//	C"raw\n"            the client sends exactly the bytes of a Go string
//	S"raw\xff\n"        the server does
//	C< 0d 0a            the client sends exactly these bytes, in hexadecimal
//	S< ff fb01          the server does
//	C< 01 {id}          the four bytes in place of {id} may be any
//	S< 02 {id}          the server sends those again
//	C? QUIT             the client sends this line, or does not
//	C!close             the client closes its side of the connection
//	S!close             the server closes the connection; whatever the client still sends is lost
//	S!reset             the server resets the connection; what it sent last may be lost
//	S!stall             the server falls silent and leaves the connection open
//	S!wait NAME         the server waits until it is through with the script NAME
//
// After the last step the server waits for the client to close the connection, or for the test to
// end. Nothing may follow S!close, S!reset and S!stall.
//
// Lines with a colon may contain variables, for ports are not known in advance:
//
//	$HOST               127.0.0.1
//	$PORT               the port of the server
//	$PORT{NAME}         the port where the connection of script NAME is awaited
//	$EPSV{NAME}         the same as |||6446|
//	$PASV{NAME}         the same as 127,0,0,1,25,46
//
// A script that such a variable names has a port to itself, as an FTP data connection. All others
// are played on the port of the server, in the order of the archive.
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
	name    string // of the file, for messages
	scripts []*script
}

// A script is what happens on one connection.
type script struct {
	name  string
	own   bool // it has a port to itself
	steps []step
}

// A step is one line of a script.
type step struct {
	line     int // in the archive, from 1
	client   bool
	action   action
	data     []byte // for say: with the line end, before variables are replaced
	vars     bool   // variables are to be replaced in data
	optional bool
	numbers  []number
	wait     string // the name of a script
}

// A number is some bytes that the client chooses.
type number struct {
	at   int    // in the data of the step
	name string // with its braces
}

const numberSize = 4

// chosen reports whether the i-th byte belongs to a number.
func (s step) chosen(i int) bool {
	for _, n := range s.numbers {
		if i >= n.at && i < n.at+numberSize {
			return true
		}
	}
	return false
}

// An action is what the side does whose step it is.
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

// script returns the script of that name, or nil.
func (c *Conversation) script(name string) *script {
	for _, s := range c.scripts {
		if s.name == name {
			return s
		}
	}
	return nil
}

// main returns the scripts that are played on the port of the server.
func (c *Conversation) main() (scripts []*script) {
	for _, s := range c.scripts {
		if !s.own {
			scripts = append(scripts, s)
		}
	}
	return scripts
}

// String returns the step as a line of a transcript.
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

// hex returns the data of the step in hexadecimal, after a space, with the names of its numbers.
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
