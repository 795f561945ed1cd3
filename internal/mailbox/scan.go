package mailbox

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"

	"github.com/urlget/urlget/fetch/message"
)

type layout bool

const (
	mboxFile    layout = true  // an mbox: each message begins with a line "From "
	messageFile layout = false // one message
)

const maxContentIDs = 1000

// scanFile yields the messages of a file. It returns false if yield did or ctx is done.
func scanFile(ctx context.Context, path string, format layout, yield func(*Message, error) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return yield(nil, err)
	}
	defer f.Close()
	return scan(ctx, f, path, format, 0, yield)
}

func (m *Message) rescan(ctx context.Context) (fresh *Message, err error) {
	r, err := m.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	fresh = new(Message)
	scan(ctx, r, m.Path, messageFile, m.Offset, func(found *Message, e error) bool {
		if err = e; e == nil {
			fresh = found
		}
		return false
	})
	return fresh, err
}

// scan yields the messages in r, which begins at offset in the file at path.
func scan(
	ctx context.Context, r io.Reader, path string, format layout, offset int64,
	yield func(*Message, error) bool,
) bool {
	s := scanner{m: &Message{Path: path, Offset: offset}, inHead: true}
	br := bufio.NewReaderSize(r, 64<<10)
	afterBlank, lineStart, inMessage := true, true, format == messageFile
	for lines := 0; ; lines++ {
		if lines%1024 == 0 && ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return false
		}
		line, err := br.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return yield(nil, err)
		}
		if format == mboxFile && lineStart && afterBlank && bytes.HasPrefix(line, []byte("From ")) {
			if inMessage && !yield(s.end(offset), nil) {
				return false
			}
			inMessage = true
			offset += int64(len(line))
			isLong := err == bufio.ErrBufferFull
			s = scanner{m: &Message{Path: path, Offset: offset}, mbox: true, inHead: true, skip: isLong}
		} else if inMessage && len(line) > 0 {
			s.line(line, lineStart)
			offset += int64(len(line))
		} else {
			offset += int64(len(line)) // before the first message
		}
		if err == io.EOF {
			return !inMessage || yield(s.end(offset), nil)
		}
		blank := len(bytes.TrimRight(line, "\r\n")) == 0
		afterBlank = lineStart && blank
		lineStart = err == nil
	}
}

type scanner struct {
	m      *Message
	mbox   bool
	inHead bool
	skip   bool  // skip the rest of a long From_ line
	idNext bool  // the next line may hold the Content-ID
	tail   int64 // size of the last line if it is empty, otherwise 0
}

// line processes a line or a piece of one. lineStart is true at the beginning of a line.
func (s *scanner) line(line []byte, lineStart bool) {
	if s.skip {
		s.m.Offset += int64(len(line))
		s.skip = line[len(line)-1] != '\n'
		return
	}
	blank := lineStart && len(bytes.TrimRight(line, "\r\n")) == 0
	if s.tail = 0; blank && !s.inHead {
		s.tail = int64(len(line))
	}
	if s.inHead && len(s.m.Head)+len(line) <= message.MaxHeader {
		s.m.Head = append(s.m.Head, line...)
	}
	s.inHead = s.inHead && !blank
	const field = "content-id:"
	switch {
	case !lineStart || len(s.m.contentIDs) == maxContentIDs:
	case len(line) >= len(field) && bytes.EqualFold(line[:len(field)], []byte(field)):
		s.contentID(line[len(field):])
	case s.idNext && len(line) > 0 && (line[0] == ' ' || line[0] == '\t'):
		s.contentID(line)
	default:
		s.idNext = false
	}
}

func (s *scanner) contentID(value []byte) {
	id := trimID(string(value[:min(len(value), 1000)]))
	if s.idNext = id == ""; !s.idNext {
		s.m.contentIDs = append(s.m.contentIDs, id)
	}
}

func (s *scanner) end(offset int64) *Message {
	if s.mbox {
		offset -= s.tail // the empty line after a message belongs to the mbox
	}
	s.m.Size = max(0, offset-s.m.Offset)
	return s.m
}
