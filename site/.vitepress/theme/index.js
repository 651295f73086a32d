import DefaultTheme from 'vitepress/theme-without-fonts'
import './style.css'
import './reference.css'

export default DefaultTheme
