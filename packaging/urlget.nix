# An expression for nix: nix-build packaging/urlget.nix
# The first build fails and prints the hash of the modules of go.sum. Set vendorHash to it.
{ pkgs ? import <nixpkgs> { } }:

pkgs.buildGoModule {
  pname = "urlget";
  version = pkgs.lib.removePrefix "v" (pkgs.lib.fileContents ../cmd/urlget/VERSION);
  src = pkgs.lib.cleanSource ./..;
  vendorHash = pkgs.lib.fakeHash;
  subPackages = [ "cmd/urlget" "cmd/urlget-queue" ];
  env.CGO_ENABLED = 0;
  ldflags = [ "-s" "-w" ];
  nativeBuildInputs = [ pkgs.installShellFiles ];
  postInstall = ''
    installShellCompletion --cmd urlget \
      --bash <($out/bin/urlget completion bash) \
      --zsh <($out/bin/urlget completion zsh) \
      --fish <($out/bin/urlget completion fish)
  '';
  meta = {
    description = "Retrieve URLs of any scheme";
    homepage = "https://github.com/urlget/urlget";
    license = pkgs.lib.licenses.mit;
    mainProgram = "urlget";
  };
}
