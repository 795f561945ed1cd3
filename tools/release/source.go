package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A source is the state of the repository that a release is built from.
type source struct {
	root    string // its directory
	version string // such as v1.2.0
	stated  string // that of versionFile
	commit  string // in hexadecimal
	date    time.Time
}

// stamp returns the date of the commit in the format of RFC 3339.
func (s source) stamp() string { return s.date.Format(time.RFC3339) }

// versions matches module versions, which are semantic versions with a "v".
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// describeSource returns the state of the repository in root. If a version is given, the working tree
// must not have uncommitted changes.
func describeSource(ctx context.Context, root, version string) (source, error) {
	changes, err := output(ctx, root, "git", "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	head, err := output(ctx, root, "git", "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return source{}, err
	}
	tags, err := output(ctx, root, "git", "tag", "--points-at", "HEAD")
	if err != nil {
		return source{}, err
	}
	s, err := readHead(head)
	if err != nil {
		return source{}, err
	}
	s.root = root
	stated, err := os.ReadFile(filepath.Join(root, versionFile))
	if err != nil {
		return source{}, err
	}
	s.stated = strings.TrimSpace(string(stated))
	s.version, err = chooseVersion(version, tags, s, changes != "")
	return s, err
}

// readHead reads the commit and its time in seconds.
func readHead(line string) (source, error) {
	commit, seconds, _ := strings.Cut(line, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || len(commit) < 12 {
		return source{}, fmt.Errorf("git describes the commit as %q", line)
	}
	return source{commit: commit, date: time.Unix(unix, 0).UTC()}, nil
}

// versionFile has the version that every build of a commit without a tag prints.
const versionFile = "cmd/urlget/VERSION"

// chooseVersion returns the requested version, or that of a tag of the commit, or else the stated one.
func chooseVersion(requested, tags string, s source, changed bool) (string, error) {
	if requested != "" {
		switch {
		case !versions.MatchString(requested):
			return "", fmt.Errorf("%q is not a version such as v1.2.0 or v1.3.0-rc.1", requested)
		case changed:
			return "", errors.New("the working tree has changes that are not committed: a release could " +
				"not be built again")
		}
		return requested, nil
	}
	version := s.stated
	for _, tag := range strings.Fields(tags) {
		if versions.MatchString(tag) {
			version = tag
		}
	}
	if changed {
		version += "+dirty"
	}
	return version, nil
}
