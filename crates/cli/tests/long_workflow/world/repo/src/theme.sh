theme() {
  case $1 in
    light) echo "#ffffff" ;;
  esac
}
