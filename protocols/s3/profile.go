package s3

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/sigv4"
)

// maxProfiles limits the bytes read of a file with profiles.
const maxProfiles = 1 << 20

const defaultRegion = "us-east-1"

// place returns the store, and the access key of the environment or of the user's profile. Foreign
// requests use neither a key nor a file.
func (d *opener) place(foreign bool) (*place, error) {
	p := &place{region: cmp.Or(d.Getenv("AWS_REGION"), d.Getenv("AWS_DEFAULT_REGION"))}
	endpoint, source := d.Endpoint, "the endpoint"
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if endpoint == "" {
			endpoint, source = d.Getenv(name), "$"+name
		}
	}
	if !foreign {
		profile, err := d.profile()
		if err != nil {
			return nil, err
		}
		p.region = cmp.Or(p.region, profile["region"])
		if endpoint == "" {
			endpoint, source = profile["endpoint_url"], "endpoint_url of the profile"
		}
		p.takeKey(d.Getenv, profile)
	}
	p.region = cmp.Or(p.region, defaultRegion)
	if !isRegion(p.region) {
		return nil, fetch.ErrURL.Errorf("the region is not a valid name")
	}
	var err error
	if endpoint != "" {
		p.endpoint, err = checkEndpoint(endpoint, source)
	}
	return p, err
}

// takeKey takes the access key of the environment or, if there is none, of a profile.
func (p *place) takeKey(getenv func(string) string, profile map[string]string) {
	env := sigv4.Key{ID: getenv("AWS_ACCESS_KEY_ID"), Secret: getenv("AWS_SECRET_ACCESS_KEY"),
		Token: getenv("AWS_SESSION_TOKEN")}
	if env.ID != "" && env.Secret != "" {
		p.key, p.source = env, "$AWS_ACCESS_KEY_ID"
		return
	}
	own := sigv4.Key{ID: profile["aws_access_key_id"], Secret: profile["aws_secret_access_key"],
		Token: profile["aws_session_token"]}
	if own.ID != "" && own.Secret != "" {
		p.key, p.source = own, "the profile "+profileName(getenv)
	}
}

// logIn takes the login of the URL or of the client's credentials as the access key. Without any key, a
// profile whose key has another source is an error, because the request would be anonymous.
func (d *opener) logIn(ctx context.Context, req *fetch.Request, p *place) error {
	cred, err := d.env.Credential(ctx, fetch.Challenge{URL: req.URL, Mechanism: "aws4-hmac-sha256",
		Attempt: 1, Unasked: true})
	switch {
	case err == nil && cred.Password != "" && cred.User != "" && cred.User != "anonymous": // of a netrc file
		p.key, p.source = sigv4.Key{ID: cred.User, Secret: cred.Password}, "the login"
	case err != nil && !errors.Is(err, fetch.ErrAuth):
		return err
	}
	if p.key.ID != "" || d.env.Foreign(ctx) || req.Header.Get("Authorization") != "" {
		return nil
	}
	profile, err := d.profile()
	for _, name := range []string{"role_arn", "sso_session", "sso_start_url", "credential_process",
		"login_session"} {
		if profile[name] != "" {
			return &fetch.Error{Code: fetch.ErrAuth,
				Err: fmt.Errorf("the profile %s takes its access key from %s, which is not supported",
					profileName(d.Getenv), name),
				Hint: `run eval "$(aws configure export-credentials --format env)" first`}
		}
	}
	return err
}

func profileName(getenv func(string) string) string { return cmp.Or(getenv("AWS_PROFILE"), "default") }

// profile returns the settings of the user's profile. Those of the file with credentials take precedence.
// It returns an error if AWS_PROFILE names a profile that does not exist.
func (d *opener) profile() (map[string]string, error) {
	name := profileName(d.Getenv)
	settings := make(map[string]string)
	found := false
	for _, file := range []struct{ variable, name, section string }{
		{"AWS_CONFIG_FILE", "config", "profile " + name},
		{"AWS_SHARED_CREDENTIALS_FILE", "credentials", name},
	} {
		if name == "default" {
			file.section = name
		}
		path := d.Getenv(file.variable)
		if home := cmp.Or(d.Getenv("HOME"), d.Getenv("USERPROFILE")); path == "" && home != "" {
			path = filepath.Join(home, ".aws", file.name)
		}
		f, err := os.Open(path)
		if err != nil {
			if path != "" && !errors.Is(err, os.ErrNotExist) {
				return nil, fetch.ErrFile.Errorf("%w", err)
			}
			continue
		}
		ok, err := readProfile(io.LimitReader(f, maxProfiles), settings, file.section)
		f.Close()
		if err != nil {
			return nil, fetch.ErrFile.Errorf("%s: %w", path, err)
		}
		found = found || ok
	}
	if !found && d.Getenv("AWS_PROFILE") != "" {
		return nil, &fetch.Error{Code: fetch.ErrAuth,
			Err:  fmt.Errorf("there is no profile %q, the value of $AWS_PROFILE", name),
			Hint: "the profiles are those of ~/.aws/config and ~/.aws/credentials"}
	}
	return settings, nil
}

// readProfile adds the settings of a section, and reports whether there is one. Indented lines are settings
// of settings, which are not needed.
func readProfile(r io.Reader, settings map[string]string, section string) (found bool, err error) {
	lines := bufio.NewScanner(r)
	in := false
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "\ufeff")
		if header, ok := strings.CutPrefix(line, "["); ok {
			header, _, _ = strings.Cut(header, "]")
			in = strings.Join(strings.Fields(header), " ") == section
			found = found || in
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if ok && in && !strings.ContainsAny(line[:1], " \t#;") {
			settings[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return found, lines.Err()
}
