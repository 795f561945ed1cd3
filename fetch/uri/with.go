package uri

// WithUser returns u with this user name and no password. If u has no host
// part, or the name holds CR, LF or NUL, the result is the zero URI.
func (u URI) WithUser(name string) URI {
	if !u.authority {
		return URI{}
	}
	c := u.split()
	c.authority = "//" + Escape(name) + "@" + u.hostPortAsWritten()
	return c.uri()
}

// WithUserinfoOf returns u with the user name and password of v, as they are
// written there. If one of the two has no place for them, it returns u.
func (u URI) WithUserinfoOf(v URI) URI {
	if !u.authority || v.at == 0 {
		return u
	}
	c := u.split()
	c.authority = "//" + v.userinfo() + "@" + u.hostPortAsWritten()
	return c.uri()
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

func (u URI) hostPortAsWritten() string {
	if u.at > 0 {
		return u.text[u.at+1 : u.path]
	}
	return u.text[u.authStart():u.path]
}

// WithFragment returns u with the fragment that the text encodes to.
func (u URI) WithFragment(text string) URI {
	c := u.split()
	c.fragment = "#" + Escape(text)
	return c.uri()
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
