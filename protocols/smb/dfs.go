package smb

import (
	"strings"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/smb2"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// A referral is an error with the URLs of the servers that have the files.
type referral struct {
	urls  []uri.URI
	cause error
}

func (r *referral) Error() string { return r.cause.Error() }

// refer asks the server where the files of t are, after a request failed with cause. It returns a
// *referral, or cause if the server does not know.
func (s *session) refer(t *target, cause error) error {
	if !s.hasDFS || t.share == "" {
		return cause
	}
	path := `\` + t.url.Host() + `\` + t.share
	if t.path != "" {
		path += `\` + t.path
	}
	r, err := s.askReferral(t.url.Host(), path)
	if s.err != nil {
		return s.err
	}
	if urls := t.locations(path, r); err == nil && len(urls) > 0 {
		return &referral{urls, cause}
	}
	return cause
}

// askReferral sends a request for a path, such as \server\share\dir, to the share IPC$.
func (s *session) askReferral(host, path string) (r smb2.Referral, err error) {
	tree := s.treeID
	defer func() { s.treeID = tree }()
	if s.treeID = s.ipcID; s.treeID == 0 {
		if err := s.connectTree(`\\` + host + `\IPC$`); err != nil {
			return r, err
		}
		s.ipcID = s.treeID
	}
	req := &smb2.IoctlRequest{CtlCode: smb2.FsctlDFSGetReferrals, FileID: smb2.NoFile,
		MaxOutputResponse: maxPipe, Flags: smb2.IoctlIsFsctl}
	_, data, err := s.roundTrip(smb2.Ioctl, creditSize, req, smb2.ReferralRequest(path),
		&smb2.IoctlResponse{})
	if err != nil {
		return r, err
	}
	if r, err = smb2.ParseReferral(data); err != nil {
		err = s.violation("%v", err)
	}
	return r, err
}

// locations returns the URLs of the targets, with the rest of path that the referral does not
// replace. It skips targets that are no valid path.
func (t *target) locations(path string, r smb2.Referral) (urls []uri.URI) {
	text := smb2.UTF16(path)
	if r.Consumed > len(text) || r.Consumed%2 != 0 {
		return nil
	}
	rest := smb2.Name(text[r.Consumed:])
	if rest != "" && rest[0] != '\\' {
		return nil
	}
	for _, target := range r.Targets {
		if !strings.Contains(strings.Trim(target, `\`), `\`) {
			continue // a server without a share
		}
		if u := t.location(target + rest); !u.IsZero() {
			urls = append(urls, u)
		}
	}
	return urls
}

// location returns the URL of a path, such as \server\share\dir, or zero.
func (t *target) location(path string) uri.URI {
	var names []string
	for name := range strings.SplitSeq(path, `\`) {
		switch {
		case name == "":
		case name == ".", name == "..", !remotefile.IsName(name):
			return uri.URI{}
		default:
			names = append(names, name)
		}
	}
	if len(names) < 2 || strings.ContainsAny(names[0], "@:?#[]%") {
		return uri.URI{}
	}
	base, last := "smb://"+names[0]+"/", len(names)-1
	if strings.EqualFold(names[0], t.url.Host()) {
		base = t.Base
	}
	for _, name := range names[1:last] {
		base += uri.Escape(name) + "/"
	}
	return remotefile.Member(base, names[last], t.Dir)
}
