package main

import (
	"os"
	"sync"

	"golang.org/x/term"
)

// An input is standard input, read once and shared by the sessions of a run:
// a read at a terminal cannot be taken back.
type input struct {
	from   *os.File
	once   sync.Once
	chunks chan []byte // closed at the end
}

// read returns the channel of what comes in.
func (in *input) read() <-chan []byte {
	in.once.Do(func() {
		in.chunks = make(chan []byte)
		go func() {
			defer close(in.chunks)
			for {
				buf := make([]byte, 4096)
				n, err := in.from.Read(buf)
				if n > 0 {
					in.chunks <- buf[:n]
				}
				if err != nil {
					return
				}
			}
		}()
	})
	return in.chunks
}

// terminal reports whether somebody types.
func (in *input) terminal() bool { return term.IsTerminal(int(in.from.Fd())) }

// absent reports whether nothing can ever come: standard input is closed or
// the null device.
func (in *input) absent() bool {
	info, err := in.from.Stat()
	if err != nil {
		return true
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}
