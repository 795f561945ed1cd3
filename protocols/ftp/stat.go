package ftp

import (
	"context"
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch"
)

// inspect requests the metadata of a file or directory without a transfer. It sends the same
// commands as a transfer, so that both return the same facts.
func (s *session) inspect(ctx context.Context, t *task) (*fetch.Meta, error) {
	if t.name == "" {
		return &fetch.Meta{Kind: fetch.KindListing, Size: -1}, s.changeTo(t.cwd)
	}
	f, err := s.prepare(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	switch {
	case f.size >= 0 || !f.modTime.IsZero() && f.refused == 0:
		meta := &fetch.Meta{Size: -1, ContentType: t.mediaType(), Validator: f.validator()}
		if t.isImage() {
			meta.Size = f.size
		}
		meta.Digests, err = s.digest(t, f.size)
		return meta, err
	case f.refused == 0 && f.unknown > 0:
		return nil, fmt.Errorf("the server supports neither SIZE nor MDTM: %w", errors.ErrUnsupported)
	}
	// There is no such file, but it may be a directory.
	return &fetch.Meta{Kind: fetch.KindListing, Size: -1, Validator: fetch.Validator{ModTime: f.modTime}},
		s.changeTo(t.dir())
}

func (s *session) changeTo(dirs []string) error {
	steps, err := s.walk(dirs)
	if err != nil {
		return err
	}
	return s.say(steps...)
}
