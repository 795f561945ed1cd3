package main

import (
	"os"
	"sync"

	"golang.org/x/term"
)

// An input is standard input, read in one place and shared by all sessions of a run, because a read
// from a terminal cannot be taken back.
type input struct {
	from   *os.File
	once   sync.Once
	chunks chan []byte // closed at the end of input
}

// read returns the channel of input.
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

// terminal reports whether input comes from a terminal.
func (in *input) terminal() bool { return term.IsTerminal(int(in.from.Fd())) }

// absent reports whether there can be no input: standard input is closed or the null device.
func (in *input) absent() bool {
	info, err := in.from.Stat()
	return err != nil || isNull(info)
}

// isNull reports whether a file is the null device.
func isNull(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}
