package session

import (
	"context"
	"os"
	"sync"

	"golang.org/x/term"
)

// An Input is standard input. All sessions of a run share one reader, because a read from a terminal
// cannot be canceled.
type Input struct {
	from   *os.File
	once   sync.Once
	chunks chan []byte // closed at the end of input
}

// NewInput returns an input that is read from a file.
func NewInput(from *os.File) *Input { return &Input{from: from} }

func (in *Input) read() <-chan []byte {
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

// next returns more input. At the end of the input, and once ctx is done, ok is false.
func (in *Input) next(ctx context.Context) (chunk []byte, ok bool) {
	select {
	case chunk, ok = <-in.read():
		return chunk, ok
	case <-ctx.Done():
		return nil, false
	}
}

// Terminal reports whether input comes from a terminal.
func (in *Input) Terminal() bool { return term.IsTerminal(int(in.from.Fd())) }

// Absent reports whether standard input is closed or the null device.
func (in *Input) Absent() bool {
	info, err := in.from.Stat()
	return err != nil || IsNull(info)
}

// IsNull reports whether a file is the null device.
func IsNull(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}
