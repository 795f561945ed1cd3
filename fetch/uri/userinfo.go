package uri

// Userinfo is the decoded login of a URL. The zero value means that there is no "@". An empty name
// or password and a missing one are different (RFC 1738, section 3.1), hence the flags.
type Userinfo struct {
	Name        string
	Password    string
	HasName     bool // there is an "@"
	HasPassword bool // there is a ":" before the "@"
}

// Userinfo returns the user name and password of u in one value.
func (u URI) Userinfo() Userinfo {
	var login Userinfo
	login.Name, login.HasName = u.User()
	login.Password, login.HasPassword = u.Password()
	return login
}

// String returns the name and "xxxxx" in place of the password.
func (l Userinfo) String() string {
	if l.HasPassword || l.Password != "" {
		return l.Name + ":" + mask
	}
	return l.Name
}

// text returns the encoded login as written before the host, with the "@".
func (l Userinfo) text() string {
	switch {
	case l.HasPassword || l.Password != "":
		return Escape(l.Name) + ":" + Escape(l.Password) + "@"
	case l.HasName || l.Name != "":
		return Escape(l.Name) + "@"
	}
	return ""
}
