package uri

// WithUser returns u with the given user name and no password. It fails if u has no authority, or
// if the name contains CR, LF or NUL.
func (u URI) WithUser(name string) (URI, error) {
	if !u.authority {
		return URI{}, u.malformed("a URL without // cannot contain a user name")
	}
	c := u.split()
	c.authority = "//" + Escape(name) + "@" + u.hostPortAsWritten()
	return Parse(c.text())
}

// WithUserinfoOf returns u with the user name and password of v, as written there. If v has none,
// or u has no authority, it returns u.
func (u URI) WithUserinfoOf(v URI) URI {
	if !u.authority || v.at == 0 {
		return u
	}
	c := u.split()
	c.authority = "//" + v.userinfo() + "@" + u.hostPortAsWritten()
	return c.uri()
}

// WithLoginOf returns u with the user name and password of v if both are on the same site and u does not
// reveal them: a login for TLS is not for a plaintext URL.
func (u URI) WithLoginOf(v URI) URI {
	if v.IsSecure() && !u.IsSecure() || !v.SameSite(u) {
		return u
	}
	return u.WithUserinfoOf(v)
}

// WithoutUserinfo returns u without user name and password.
func (u URI) WithoutUserinfo() URI {
	if u.at == 0 {
		return u
	}
	c := u.split()
	c.authority = "//" + u.hostPortAsWritten()
	return c.uri()
}

// WithoutPassword returns u without its password. It also removes an empty user name.
func (u URI) WithoutPassword() URI {
	if _, ok := u.Password(); !ok {
		return u
	}
	name, _ := u.User()
	u = u.WithoutUserinfo()
	if named, err := u.WithUser(name); err == nil && name != "" {
		return named
	}
	return u
}

// WithoutPort returns u without its port if that is def, the default port of its scheme.
func (u URI) WithoutPort(def uint16) URI {
	if u.port == 0 || u.port != def {
		return u
	}
	c := u.split()
	c.authority = u.text[u.authStart()-2 : u.hostEnd]
	return c.uri()
}

func (u URI) hostPortAsWritten() string {
	if u.at > 0 {
		return u.text[u.at+1 : u.path]
	}
	return u.text[u.authStart():u.path]
}

// WithoutFragment returns u without its fragment and the "#".
func (u URI) WithoutFragment() URI {
	if u.frag == 0 {
		return u
	}
	c := u.split()
	c.fragment = ""
	return c.uri()
}
